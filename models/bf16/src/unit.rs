//! What multiplies, ready in one thread.

use std::marker::PhantomData;

use crate::instructions::{Instructions, Products};
use crate::pair::{Line, Pairs, STEPS, WIDTH};

/// What multiplies, ready in the thread that made it. It costs some hundred cycles on AMX, nothing elsewhere: one serves
/// for a whole matrix.
pub struct Unit {
    instructions: Instructions,
    /// The shapes of tiles belong to a thread, so that this cannot be sent to another.
    _of_this_thread: PhantomData<*const ()>,
}

impl Unit {
    pub(crate) fn of(products: Products) -> Self {
        let instructions = products.instructions();
        #[cfg(target_arch = "x86_64")]
        if instructions == Instructions::AmxBf16 {
            // SAFETY: `products` exists, so the processor has the instructions.
            unsafe { crate::amx::enter() };
        }
        Self {
            instructions,
            _of_this_thread: PhantomData,
        }
    }

    /// Row r of `sums` = `start` + row r of a tile times `panel` `[pairs]`. The tile's rows are in `lines`
    /// `[⌈pairs / 16⌉ × rows]`: the first line of each row, then the second of each, and so on.
    ///
    /// # Panics
    /// If there are too few lines, or the number of rows is none of the instructions' [heights](Instructions::heights).
    pub fn tile(
        &self,
        lines: &[Line],
        panel: &[Pairs],
        start: &[f32; WIDTH],
        sums: &mut [[f32; WIDTH]],
    ) {
        let (rows, heights) = (sums.len(), self.instructions.heights());
        assert!(heights.contains(&rows), "{rows} rows, and not {heights:?}");
        assert!(
            lines.len() >= panel.len().div_ceil(STEPS) * rows,
            "a line of each row for every step"
        );
        #[cfg(target_arch = "x86_64")]
        match self.instructions {
            // SAFETY: this thread entered when `self` was made.
            Instructions::AmxBf16 => unsafe { crate::amx::tile(lines, panel, start, sums) },
            // SAFETY: `self` was made of a `Products`, so the processor has the instructions.
            Instructions::Avx512Bf16 => unsafe { crate::avx512::tile(lines, panel, start, sums) },
        }
        #[cfg(not(target_arch = "x86_64"))]
        unreachable!("no `Products` exists on {}", std::env::consts::ARCH);
    }
}

impl Drop for Unit {
    fn drop(&mut self) {
        #[cfg(target_arch = "x86_64")]
        if self.instructions == Instructions::AmxBf16 {
            // SAFETY: this thread entered when `self` was made.
            unsafe { crate::amx::leave() };
        }
    }
}
