//! `TDPBF16PS` on the tiles of AMX.
//!
//! The intrinsics are not stable, so the instructions stand here as text. A thread tells its unit the shapes of the tiles
//! ([`enter`]) before it multiplies, and gives them up when it is done ([`leave`]): a thread that holds tiles takes 8 KB more
//! to switch. No tile keeps anything between two calls.

use std::arch::asm;
use std::cell::Cell;

use crate::pair::{Line, Pairs, STEPS, WIDTH};

/// Rows of a tile register; each has 64 bytes.
const ROWS: usize = 16;

/// Rows of two of them.
const HEIGHT: usize = 2 * ROWS;

/// The shapes of all tiles, as `LDTILECFG` reads them: 16 rows of 64 bytes each.
#[repr(C, align(64))]
struct Shapes {
    palette: u8,
    start_row: u8,
    reserved: [u8; 14],
    bytes: [u16; 16],
    rows: [u8; 16],
}

static SHAPES: Shapes = Shapes {
    palette: 1,
    start_row: 0,
    reserved: [0; 14],
    bytes: [64, 64, 64, 64, 64, 64, 64, 64, 0, 0, 0, 0, 0, 0, 0, 0],
    rows: [16, 16, 16, 16, 16, 16, 16, 16, 0, 0, 0, 0, 0, 0, 0, 0],
};

thread_local! {
    /// How many times this thread entered and did not leave.
    static ENTERED: Cell<usize> = const { Cell::new(0) };
}

/// Whether this processor has the instructions, and the system lets this process use them.
pub(crate) fn available() -> bool {
    use std::arch::x86_64::{__cpuid, __cpuid_count};

    /// Bits of EDX in leaf 7 (Intel SDM, volume 2, CPUID).
    const AMX_BF16: u32 = 1 << 22;
    const AMX_TILE: u32 = 1 << 24;
    if __cpuid(0).eax < 7 {
        return false;
    }
    let features = __cpuid_count(7, 0).edx;
    features & AMX_BF16 != 0 && features & AMX_TILE != 0 && permitted()
}

/// Asks the system for the tiles' state, which a process must do once (Linux since 5.16).
#[cfg(target_os = "linux")]
fn permitted() -> bool {
    const ARCH_REQ_XCOMP_PERM: libc::c_int = 0x1023;
    const XFEATURE_XTILEDATA: libc::c_ulong = 18;
    // SAFETY: this call reads and writes no memory of the process. A system that does not know it returns an error.
    unsafe {
        libc::syscall(
            libc::SYS_arch_prctl,
            ARCH_REQ_XCOMP_PERM,
            XFEATURE_XTILEDATA,
        ) == 0
    }
}

/// Other systems are not known to.
#[cfg(not(target_os = "linux"))]
fn permitted() -> bool {
    false
}

/// Makes this thread's unit ready.
///
/// # Safety
/// The instructions are [`available`].
pub(crate) unsafe fn enter() {
    ENTERED.with(|entered| {
        if entered.get() == 0 {
            // SAFETY: the processor has the instruction, and reads 64 bytes.
            unsafe {
                asm!("ldtilecfg [{}]", in(reg) &raw const SHAPES, options(nostack, readonly, preserves_flags));
            }
        }
        entered.set(entered.get() + 1);
    });
}

/// Takes one [`enter`] of this thread back.
///
/// # Safety
/// This thread [entered](enter).
pub(crate) unsafe fn leave() {
    ENTERED.with(|entered| {
        entered.set(entered.get() - 1);
        if entered.get() == 0 {
            // SAFETY: the processor has the instruction.
            unsafe {
                asm!("tilerelease", options(nostack, nomem, preserves_flags));
            }
        }
    });
}

/// [`Unit::tile`](crate::Unit::tile) for 16 or 32 rows.
///
/// # Safety
/// This thread [entered](enter).
pub(crate) unsafe fn tile(
    lines: &[Line],
    panel: &[Pairs],
    start: &[f32; WIDTH],
    sums: &mut [[f32; WIDTH]],
) {
    sums.fill(*start);
    let (steps, rest) = panel.as_chunks::<STEPS>();
    // SAFETY: as the caller promises.
    unsafe { add(lines, steps, sums) };
    if !rest.is_empty() {
        // A register holds 16 pairs: the last are filled up with 0, as the lines are.
        let mut last = [Pairs::ZERO; STEPS];
        last[..rest.len()].copy_from_slice(rest);
        // SAFETY: as the caller promises.
        unsafe { add(&lines[steps.len() * sums.len()..], &[last], sums) };
    }
}

/// Instructions over `steps`, with the addresses and the registers of tiles that all loops have.
macro_rules! run {
    ($lines:expr, $steps:expr, $sums:expr, $($instruction:literal),+ $(,)?) => {
        asm!(
            $($instruction,)+
            lines = inout(reg) $lines.as_ptr() => _,
            panel = inout(reg) $steps.as_ptr() => _,
            steps = inout(reg) $steps.len() => _,
            sums = in(reg) $sums.as_mut_ptr(),
            narrow = in(reg) size_of::<Line>(),
            wide = in(reg) size_of::<Pairs>(),
            out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
            out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
            options(nostack),
        )
    };
}

/// Adds the products of whole steps. `sums` are two registers beside each other for 16 rows, and two more below for 32:
/// then every register that is loaded is multiplied twice.
///
/// # Safety
/// This thread [entered](enter).
unsafe fn add(lines: &[Line], steps: &[[Pairs; STEPS]], sums: &mut [[f32; WIDTH]]) {
    assert!(
        lines.len() >= steps.len() * sums.len(),
        "a line of each row for every step"
    );
    if steps.is_empty() {
        return;
    }
    match sums.len() {
        // SAFETY: the loop reads `steps` times 16 lines and 16 rows of pairs, which exist, by rows of 64 and 128 bytes; it
        // reads and writes 16 rows of 128 bytes of sums. The registers are declared.
        ROWS => unsafe {
            run!(
                lines,
                steps,
                sums,
                "tileloadd tmm0, [{sums} + {wide}]",
                "tileloadd tmm1, [{sums} + {wide} + 64]",
                "2:",
                "tileloadd tmm4, [{lines} + {narrow}]",
                "tileloadd tmm6, [{panel} + {wide}]",
                "tdpbf16ps tmm0, tmm4, tmm6",
                "tileloadd tmm7, [{panel} + {wide} + 64]",
                "tdpbf16ps tmm1, tmm4, tmm7",
                "add {lines}, 1024",
                "add {panel}, 2048",
                "dec {steps}",
                "jnz 2b",
                "tilestored [{sums} + {wide}], tmm0",
                "tilestored [{sums} + {wide} + 64], tmm1",
            );
        },
        // SAFETY: the same with 32 lines a step and 32 rows of sums.
        HEIGHT => unsafe {
            run!(
                lines,
                steps,
                sums,
                "tileloadd tmm0, [{sums} + {wide}]",
                "tileloadd tmm1, [{sums} + {wide} + 64]",
                "tileloadd tmm2, [{sums} + {wide} + 2048]",
                "tileloadd tmm3, [{sums} + {wide} + 2112]",
                "2:",
                "tileloadd tmm4, [{lines} + {narrow}]",
                "tileloadd tmm6, [{panel} + {wide}]",
                "tdpbf16ps tmm0, tmm4, tmm6",
                "tileloadd tmm7, [{panel} + {wide} + 64]",
                "tdpbf16ps tmm1, tmm4, tmm7",
                "tileloadd tmm5, [{lines} + {narrow} + 1024]",
                "tdpbf16ps tmm2, tmm5, tmm6",
                "tdpbf16ps tmm3, tmm5, tmm7",
                "add {lines}, 2048",
                "add {panel}, 2048",
                "dec {steps}",
                "jnz 2b",
                "tilestored [{sums} + {wide}], tmm0",
                "tilestored [{sums} + {wide} + 64], tmm1",
                "tilestored [{sums} + {wide} + 2048], tmm2",
                "tilestored [{sums} + {wide} + 2112], tmm3",
            );
        },
        height => panic!("tiles of AMX have {ROWS} or {HEIGHT} rows, and not {height}"),
    }
}
