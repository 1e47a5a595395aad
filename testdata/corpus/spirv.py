"""What the scripts of this folder read off SPIR-V modules, and change in them."""
import struct


class Module:
    """What a module declares: stages, and its variables of a storage class with location and type."""

    def __init__(self, data):
        words = struct.unpack(f"<{len(data) // 4}I", data)
        at, self.stages, self.matrices, self.entries = 5, [], False, []
        self.decorations, self.types, self.variables, self.names = {}, {}, [], {}
        while at < len(words):
            count, op = words[at] >> 16, words[at] & 0xFFFF
            args = words[at + 1 : at + count]
            if op == 15:
                self.stages.append({0: "vertex", 4: "fragment", 5: "compute"}.get(args[0], "other"))
                self.entries.append(struct.pack(f"<{len(args) - 2}I", *args[2:]).split(b"\0")[0].decode())
            self.matrices |= op == 17 and args[0] in (5357, 6022)
            if op == 5:
                self.names[args[0]] = struct.pack(f"<{len(args) - 1}I", *args[1:]).split(b"\0")[0].decode(errors="replace")
            if op == 71:
                self.decorations.setdefault(args[0], {})[args[1]] = args[2] if len(args) > 2 else None
            if op == 72:
                self.decorations.setdefault((args[0], args[1]), {})[args[2]] = args[3] if len(args) > 3 else None
            if 19 <= op <= 33 or op == 43:
                self.types[args[1] if op == 43 else args[0]] = (op, args[2:] if op == 43 else args[1:])
            if op == 59:
                self.variables.append((args[1], args[0], args[2]))
            if op == 54:
                break
            at += count

    def text(self, ty):
        """A type in GLSL, and the number of elements of each array around it."""
        op, args = self.types[ty]
        if op == 28:
            inner, counts = self.text(args[0])
            return inner, [self.types[args[1]][1][0]] + counts
        if op == 21:
            return {(32, 1): "int", (32, 0): "uint"}[(args[0], args[1])], []
        if op == 22:
            return {32: "float", 64: "double"}[args[0]], []
        if op == 23:
            part = self.text(args[0])[0]
            return {"int": "i", "uint": "u", "float": "", "double": "d"}[part] + f"vec{args[1]}", []
        if op == 24:
            column = self.text(args[0])[0]
            return column.replace("vec", "mat") .replace("mat", f"mat{args[1]}x"), []
        raise KeyError(op)

    def of(self, storage):
        """Inputs (1) or outputs (3): location, component, type and arrays of plain ones, or members of a block."""
        for id, pointer, kind in self.variables:
            has = self.decorations.get(id, {})
            ty = self.types[pointer][1][1]
            if kind != storage or 11 in has:
                continue
            op, members = self.types[ty]
            if op == 30:
                if any(11 in self.decorations.get((ty, n), {}) for n in range(len(members))):
                    continue
                inner = [(self.text(member), self.decorations.get((ty, n), {})) for n, member in enumerate(members)]
                yield has.get(30), 0, inner
            else:
                yield has[30], has.get(31, 0), self.text(ty)

    def bindings(self):
        """Variables with a binding: name (of a block its type's), set, binding, and kind: storage class and opcode."""
        for id, pointer, kind in self.variables:
            has = self.decorations.get(id, {})
            if 33 in has:
                ty = self.types[pointer][1][1]
                of = (kind, self.types[ty][0])
                while self.types[ty][0] in (28, 29):
                    ty = self.types[ty][1][0]
                name = self.names.get(ty if self.types[ty][0] == 30 else id, "")
                yield id, name, has.get(34, 0), has[33], of


LOCATION, BINDING = 30, 33


def renumbered(data, decoration, numbers):
    """The module with other locations or bindings: of variables by id."""
    words = list(struct.unpack(f"<{len(data) // 4}I", data))
    at = 5
    while at < len(words):
        if words[at] & 0xFFFF == 71 and words[at + 2] == decoration:
            words[at + 3] = numbers.get(words[at + 1], words[at + 3])
        at += words[at] >> 16
    return struct.pack(f"<{len(words)}I", *words)


def consistent(stages):
    """Stages that fit together: each variable has a binding of its own, and inputs have the locations of the outputs of
    their names. glslang gives one binding to a block and to a texture now and then, and numbers each stage's interface."""
    return with_common_locations(with_own_bindings(stages))


def with_common_locations(stages):
    """Stages whose fragment inputs have the locations of the vertex outputs of their names."""
    if set(stages) != {"vert", "frag"}:
        return stages
    located = lambda module, storage: {
        module.names.get(id, ""): (id, module.decorations[id][LOCATION])
        for id, _, kind in module.variables
        if kind == storage and LOCATION in module.decorations.get(id, {})
    }
    outputs, inputs = located(Module(stages["vert"]), 3), located(Module(stages["frag"]), 1)
    if all(outputs.get(name, at)[1] == at[1] for name, at in inputs.items()):
        return stages
    # What nothing writes comes after everything else, with room for a matrix or an array.
    beyond = max([location for _, location in outputs.values()], default=0) + 4
    unwritten = [name for name in inputs if name not in outputs]
    new = {id: outputs[name][1] for name, (id, _) in inputs.items() if name in outputs}
    new |= {inputs[name][0]: beyond + 4 * n for n, name in enumerate(unwritten)}
    return {**stages, "frag": renumbered(stages["frag"], LOCATION, new)}


def with_own_bindings(stages):
    """Stages whose variables have a binding each."""
    modules = {stage: Module(data) for stage, data in stages.items()}
    every = [variable for module in modules.values() for variable in module.bindings()]
    here = {}
    for *_, of_set, binding, kind in every:
        here.setdefault((of_set, binding), set()).add(kind)
    if all(len(kinds) == 1 for kinds in here.values()):
        return stages
    numbers = {}
    for _, name, of_set, _, kind in every:
        numbers.setdefault((of_set, name, kind), sum(key[0] == of_set for key in numbers))
    new = lambda module: {id: numbers[(of_set, name, kind)] for id, name, of_set, _, kind in module.bindings()}
    return {stage: renumbered(data, BINDING, new(modules[stage])) for stage, data in stages.items()}
