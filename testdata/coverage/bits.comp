#version 450
// grid 4 1 1
// at 0 bits 512
// at 1 zeros 8192
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { uint a[]; };
layout(set = 0, binding = 1) buffer B { uint b[][32]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    uint x = a[i * 4], y = a[i * 4 + 1];
    int offset = int(a[i * 4 + 2] % 32u), count = int(a[i * 4 + 3] % uint(33 - offset));
    int n = 0;
    b[i][n++] = bitfieldExtract(x, offset, count);
    b[i][n++] = uint(bitfieldExtract(int(x), offset, count));
    b[i][n++] = bitfieldInsert(x, y, offset, count);
    b[i][n++] = bitfieldExtract(x, 0, 32);
    b[i][n++] = bitfieldInsert(x, y, 0, 32);
    b[i][n++] = bitfieldReverse(x);
    b[i][n++] = uint(bitCount(x));
    b[i][n++] = uint(findLSB(x << (y & 31u)));
    b[i][n++] = uint(findMSB(x >> (y & 31u)));
    b[i][n++] = uint(findMSB(int(x) >> (y & 31u)));
    b[i][n++] = uint(findMSB(0u)) + uint(findLSB(0u)) + x;
    b[i][n++] = uint(findMSB(-1)) + x;
    uint carry, borrow, high, low;
    int ihigh, ilow;
    b[i][n++] = uaddCarry(x, y, carry);
    b[i][n++] = carry;
    b[i][n++] = usubBorrow(x, y, borrow);
    b[i][n++] = borrow;
    umulExtended(x, y, high, low);
    b[i][n++] = high;
    b[i][n++] = low;
    imulExtended(int(x), int(y), ihigh, ilow);
    b[i][n++] = uint(ihigh);
    b[i][n++] = uint(ilow);
    b[i][n++] = floatBitsToUint(uintBitsToFloat(x & 0x7f7fffffu));
}
