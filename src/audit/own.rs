//! A mechanism of the program that calls this library: built, or made anew at every nominal ε of a grid.

use std::sync::Arc;

use teda_core::{Error, Guarantee, Mechanism, Result};

/// Makes a mechanism at a nominal ε.
pub type Make = dyn Fn(f64) -> Result<Arc<dyn Mechanism>> + Send + Sync;

/// A mechanism of the calling program, under a name.
#[derive(Clone)]
pub struct Own {
    /// Its name in results and seeds.
    pub name: String,
    maker: Maker,
}

#[derive(Clone)]
enum Maker {
    Built(Arc<dyn Mechanism>),
    Grid(Arc<Make>),
    /// Only a stored run names it.
    Missing,
}

impl Own {
    /// A mechanism that is built.
    #[must_use]
    pub fn built(name: &str, mechanism: Arc<dyn Mechanism>) -> Self {
        Self::new(name, Maker::Built(mechanism))
    }

    /// A mechanism that `make` makes at each nominal ε.
    #[must_use]
    pub fn grid(name: &str, make: Arc<Make>) -> Self {
        Self::new(name, Maker::Grid(make))
    }

    /// The name alone, from a stored run.
    #[must_use]
    pub fn missing(name: &str) -> Self {
        Self::new(name, Maker::Missing)
    }

    fn new(name: &str, maker: Maker) -> Self {
        Self {
            name: name.to_owned(),
            maker,
        }
    }

    /// The claim, where it does not depend on the nominal ε.
    #[must_use]
    pub fn guarantee(&self) -> Option<Guarantee> {
        match &self.maker {
            Maker::Built(mechanism) => mechanism.guarantee(),
            Maker::Grid(_) | Maker::Missing => None,
        }
    }

    /// Whether it is made anew at every nominal ε.
    #[must_use]
    pub fn is_grid(&self) -> bool {
        matches!(self.maker, Maker::Grid(_))
    }

    /// The ε to run, out of those asked for.
    ///
    /// # Errors
    /// Usage, if there are none for a mechanism that is made at each, or some for one that is built.
    pub fn epsilons(&self, asked: Option<&[f64]>) -> Result<Vec<Option<f64>>> {
        match (&self.maker, asked) {
            (Maker::Grid(_), Some(asked)) => Ok(asked.iter().copied().map(Some).collect()),
            (Maker::Grid(_), None) => Err(Error::usage(format!(
                "'{}' is made at each nominal epsilon: say at which",
                self.name
            ))),
            (Maker::Built(_), Some(_)) => Err(Error::usage(
                "this mechanism is already built and has its epsilon: leave out epsilons",
            )),
            // Which ε a stored run had does not depend on the program that made it.
            (Maker::Missing, Some(asked)) => Ok(asked.iter().copied().map(Some).collect()),
            (Maker::Built(_) | Maker::Missing, None) => {
                Ok(vec![self.guarantee().map(|claim| claim.epsilon)])
            }
        }
    }

    /// An instance at `epsilon`, which is one of [`Self::epsilons`].
    ///
    /// # Errors
    /// Usage, for the name alone; any error from making it.
    pub fn instance(&self, epsilon: Option<f64>) -> Result<Arc<dyn Mechanism>> {
        match (&self.maker, epsilon) {
            (Maker::Built(mechanism), _) => Ok(mechanism.clone()),
            (Maker::Grid(make), Some(epsilon)) => make(epsilon),
            (Maker::Grid(_) | Maker::Missing, _) => Err(Error::usage(format!(
                "'own:{}' is a mechanism of the program that made the run: only that program can rewrite with it",
                self.name
            ))),
        }
    }
}
