use super::Plan;
use crate::layout::BlockLayout;
use crate::shape;
use dovetail_ir::parse::parse;
use dovetail_ir::uniform::Uniformity;

/// Two ways of an iteration continue the loop, one leaves it: by the first branch if the last argument register is 1, which
/// is the same for all lanes, else by continuing. The first lane to leave makes the wave pass the second branch by.
const TWO_CONTINUES: &str = "shader lower compute \"t\"\nmodes 64 1 1 any any any any rte rte rte\nlower wave64 \"m\"\n\
    arg vgpr b32 system \"x\"\narg sgpr b32 user \"u\"\n\
    block0(v0: b32, v1: b32):\n v2: b32 = const 0\n v3: b32 = const 1\n v4: b1 = ieq v0, v3\n v5: b1 = ieq v1, v3\n jump block1(v2)\n\
    block1(v6: b32):\n v7: b1 = ugt v6, v0\n branch v7, block2, block3\n\
    block2:\n branch v5, block5, block6\n\
    block3:\n branch v4, block5, block4\n\
    block4:\n jump block5\n\
    block5:\n v8: b32 = iadd v6, v3\n jump block1(v8)\n\
    block6:\n return\n";

fn plan(text: &str) -> Plan {
    let mut shader = parse(text).expect("test text");
    shape::run(&mut shader).expect("a shape");
    let layout = BlockLayout::new(&shader);
    Plan::new(&shader, &layout, &Uniformity::of(&shader)).expect("a plan")
}

#[test]
fn no_wave_goes_around_a_loop_without_a_lane() {
    plan(TWO_CONTINUES).verify().expect("every block has lanes");
}

/// Without the test for lanes, a wave can bypass the branch whose saved lanes the landing restores.
#[test]
fn a_missing_test_for_lanes_is_found() {
    let mut plan = plan(TWO_CONTINUES);
    let mut found = 0;
    for n in 0..plan.landings.len() {
        let skip = plan.landings[n].skip.take();
        found += u32::from(skip.is_some() && plan.verify().is_err());
        plan.landings[n].skip = skip;
    }
    assert!(found > 0);
    assert!(plan.verify().is_ok());
}

/// Lanes that leave a block and are added to no mask are lost: at the latest, the block where they meet has none.
#[test]
fn a_lost_mask_is_found() {
    let mut plan = plan(TWO_CONTINUES);
    let mut found = 0;
    for n in 0..plan.exits.len() {
        let kept = plan.exits[n].clone();
        plan.exits[n].wait.clear();
        plan.exits[n].wait_if.clear();
        found += u32::from(plan.verify().is_err());
        plan.exits[n] = kept;
    }
    assert!(found > 0);
}
