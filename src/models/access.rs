//! How models, servers and programs are reached, and how much is read: settings that no result depends on.

use std::sync::Arc;
use std::time::Duration;

use teda_datasets::Limits;
use teda_mechanisms::Children;
use teda_server::{Budget, LARGEST_ANSWER};

/// How models and programs are reached and run; nothing here can change a result.
#[derive(Clone)]
pub struct Access {
    /// Whether the network may not be used to fetch models.
    pub offline: bool,
    /// Whether to show no progress of downloads on standard error.
    pub quiet: bool,
    /// Bytes for the keys and values of language models; the tables of mechanisms get a share of this on top.
    pub memory: usize,
    /// What may be spent on servers.
    pub budget: Budget,
    /// How programs that stand for mechanisms are run.
    pub programs: Programs,
    /// Maximum sizes of inputs.
    pub limits: Limits,
    /// Most bytes in a server's answer.
    pub largest_answer: u64,
    /// Receives a line whenever something is loaded.
    pub say: Say,
    /// Hears how far something is that may take long.
    pub watch: Watch,
}

/// Hears what is being done, how much of it is done, and how much there is.
pub type Watch = Arc<dyn Fn(&str, u64, u64) + Send + Sync>;

/// Receives lines for the user.
pub type Say = Arc<dyn Fn(&str) + Send + Sync>;

impl Default for Access {
    /// No downloads, two gibibytes, no limit on server costs, the default limits on inputs, no messages.
    fn default() -> Self {
        Self {
            offline: true,
            quiet: true,
            memory: 2048 << 20,
            budget: Budget {
                max_requests: None,
                max_tokens: None,
            },
            programs: Programs::default(),
            limits: Limits::default(),
            largest_answer: LARGEST_ANSWER,
            say: Arc::new(|_| ()),
            watch: Arc::new(|_, _, _| ()),
        }
    }
}

/// How programs are run; nothing here can change a result of a program that follows the protocol.
#[derive(Debug, Clone)]
pub struct Programs {
    /// Concurrent processes of a command; one per thread by default.
    pub processes: Option<usize>,
    /// How long a process may be silent.
    pub timeout: Duration,
    /// Keeps track of processes while they run, for a caller that has to end this process at once.
    pub children: Children,
}

impl Default for Programs {
    /// One process per thread, and a timeout of ten minutes.
    fn default() -> Self {
        Self {
            processes: None,
            timeout: Duration::from_secs(600),
            children: Children::default(),
        }
    }
}

impl Access {
    /// The options for the store of models.
    pub(super) fn store(&self) -> teda_hub::Options {
        teda_hub::Options {
            offline: self.offline,
            quiet: self.quiet,
        }
    }
}
