//! Which instructions multiply, and whether this processor has them.

use crate::pair::Pair;
use crate::plain;
use crate::unit::Unit;

/// The instructions that multiply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Instructions {
    /// `TDPBF16PS` on the tiles of AMX: Intel since Sapphire Rapids, on Linux.
    AmxBf16,
    /// `VDPBF16PS` on vectors of 512 bits: AMD since Zen 4, Intel since Cooper Lake.
    Avx512Bf16,
}

impl Instructions {
    /// All, the fastest first.
    pub const ALL: [Self; 2] = [Self::AmxBf16, Self::Avx512Bf16];

    /// Name for a manifest.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::AmxBf16 => "amx-bf16",
            Self::Avx512Bf16 => "avx512-bf16",
        }
    }

    /// Heights of the tiles that [`Unit::tile`] multiplies, the greatest first; the higher, the faster a row.
    #[must_use]
    pub fn heights(self) -> &'static [usize] {
        match self {
            Self::AmxBf16 => &[32, 16],
            Self::Avx512Bf16 => &[12, 8, 4, 1],
        }
    }

    /// `start` + Σ of the products of two rows of pairs: what these instructions compute, in plain code, to the bit.
    #[must_use]
    pub fn dot(self, start: f32, left: &[Pair], right: &[Pair]) -> f32 {
        match self {
            Self::AmxBf16 => plain::in_steps(start, left, right),
            Self::Avx512Bf16 => plain::in_one_chain(start, left, right),
        }
    }
}

/// The right to multiply: this processor has the instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Products {
    instructions: Instructions,
}

impl Products {
    /// The fastest instructions of this processor, if it has any.
    #[must_use]
    pub fn detect() -> Option<Self> {
        Instructions::ALL.into_iter().find_map(Self::of)
    }

    /// These instructions, if this processor has them.
    #[must_use]
    pub fn of(instructions: Instructions) -> Option<Self> {
        #[cfg(target_arch = "x86_64")]
        let available = match instructions {
            Instructions::AmxBf16 => crate::amx::available(),
            Instructions::Avx512Bf16 => crate::avx512::available(),
        };
        #[cfg(not(target_arch = "x86_64"))]
        let available = false;
        available.then_some(Self { instructions })
    }

    /// What multiplies.
    #[must_use]
    pub fn instructions(self) -> Instructions {
        self.instructions
    }

    /// What multiplies, ready to do so in this thread.
    #[must_use]
    pub fn unit(self) -> Unit {
        Unit::of(self)
    }
}
