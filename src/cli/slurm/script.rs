//! The batch scripts of a job: text from a plan, without asking a cluster anything.

use teda_core::Result;

use super::cluster::Cluster;
use super::job::{self, Array, RUN, SHARDS};
use super::quoting::quoted;

/// Everything that the scripts say.
pub struct Plan {
    /// Number of parts.
    pub shards: u32,
    /// The job directory, absolute.
    pub directory: String,
    /// Where relative paths in the audit's flags begin, absolute.
    pub here: String,
    /// The program in the tasks.
    pub program: String,
    /// Flags of `teda audit`, as words of a command line.
    pub audit: Vec<String>,
    /// Those of them that `teda merge` has as well.
    pub merge: Vec<String>,
    /// What the tasks are given.
    pub cluster: Cluster,
}

impl Plan {
    /// The script of the `number`-th array.
    ///
    /// # Errors
    /// Usage, for a text that no shell can pass on.
    pub fn array(&self, number: usize, array: &Array) -> Result<String> {
        let offset = array.first - 1;
        let tasks = array.last - offset;
        let limit = self.cluster.array_limit;
        let limit = limit.map_or(String::new(), |limit| format!("%{limit}"));
        let mut options = vec![
            ("array".to_owned(), Some(format!("1-{tasks}{limit}"))),
            ("output".to_owned(), Some(job::log(number, "%a"))),
            ("requeue".to_owned(), None),
            (
                "signal".to_owned(),
                Some(format!("B:USR1@{}", self.cluster.warning())),
            ),
        ];
        options.extend(self.options());
        let task = match offset {
            0 => "$SLURM_ARRAY_TASK_ID".to_owned(),
            offset => format!("$((SLURM_ARRAY_TASK_ID + {offset}))"),
        };
        let shards = quoted(&format!("{}/{SHARDS}/", self.directory))?;
        let command = self.command("audit", &self.audit)?;
        Ok(format!(
            r#"{head}
# One of {n} shards of an audit. It goes on where it stopped, however often it is begun.
{setup}
shard={task}

# The time limit is near: teda stores what it has, and the task waits for its next turn.
stop() {{
    trap '' USR1
    if [ -n "$!" ]; then
        kill -TERM "$!"
        wait "$!" && exit 0
    fi
    scontrol requeue "${{SLURM_ARRAY_JOB_ID}}_$SLURM_ARRAY_TASK_ID"
    exit 130
}}
trap stop USR1

{command} \
    --shard "$shard/{n}" --out {shards}"$shard" --go-on &
wait "$!"
"#,
            head = head(&options),
            n = self.shards,
            setup = self.setup()?,
        ))
    }

    /// The script that joins all shards.
    ///
    /// # Errors
    /// Same as [`Self::array`].
    pub fn joined(&self) -> Result<String> {
        let mut options = vec![
            ("output".to_owned(), Some(job::MERGE_LOG.to_owned())),
            ("requeue".to_owned(), None),
        ];
        options.extend(self.options());
        let run = quoted(&format!("{}/{RUN}", self.directory))?;
        let shards = quoted(&format!("{}/{SHARDS}/", self.directory))?;
        let command = self.command("merge", &self.merge)?;
        Ok(format!(
            r"{head}
# Joins the shards into one run.
{setup}
# What an attempt left that was killed; it is made of the shards alone.
rm -rf -- {run}

{command} \
    --out {run} {shards}{{1..{n}}}
",
            head = head(&options),
            n = self.shards,
            setup = self.setup()?,
        ))
    }

    /// What every task is given.
    fn options(&self) -> Vec<(String, Option<String>)> {
        let Cluster {
            partition,
            account,
            qos,
            mem,
            gpus,
            gres,
            constraint,
            ..
        } = &self.cluster;
        let cpus = Some(self.cluster.cpus.unwrap_or(1).to_string());
        let named = [
            ("open-mode", &Some("append".to_owned())),
            ("partition", partition),
            ("account", account),
            ("qos", qos),
            ("time", &self.cluster.time.map(|time| time.to_string())),
            ("mem", mem),
            ("cpus-per-task", &cpus),
            ("gpus", gpus),
            ("gres", gres),
            ("constraint", constraint),
        ];
        let given = named.into_iter().filter(|(_, value)| value.is_some());
        let given = given.map(|(key, value)| (key.to_owned(), value.clone()));
        given.chain(self.cluster.sbatch.iter().cloned()).collect()
    }

    /// What comes before teda.
    fn setup(&self) -> Result<String> {
        let mut lines = vec![format!("cd -- {} || exit 1", quoted(&self.here)?)];
        if !self.cluster.modules.is_empty() {
            let names = self.cluster.modules.iter().map(|name| quoted(name));
            let names: Vec<String> = names.collect::<Result<_>>()?;
            lines.push(format!("module load {}", names.join(" ")));
        }
        lines.extend(self.cluster.prelude.iter().cloned());
        Ok(lines.join("\n"))
    }

    /// `teda` with a command and its flags, one a line.
    fn command(&self, name: &str, flags: &[String]) -> Result<String> {
        let container = self.cluster.container.as_ref();
        let before = container.map_or(String::new(), |container| format!("{container} "));
        let mut text = format!("{before}{} {name}", quoted(&self.program)?);
        for flag in flags {
            text += " \\\n    ";
            text += &quoted(flag)?;
        }
        // What a task is given is all that it may use, and models were fetched before.
        let cpus = self.cluster.cpus.unwrap_or(1);
        for (flag, words) in [
            ("--threads", format!("--threads={cpus}")),
            ("--offline", "--offline".to_owned()),
        ] {
            if !flags
                .iter()
                .any(|given| given.split('=').next() == Some(flag))
            {
                text += " \\\n    ";
                text += &words;
            }
        }
        Ok(text)
    }
}

/// The first lines of a script. Of two options of one name sbatch takes the last: the user's.
fn head(options: &[(String, Option<String>)]) -> String {
    let mut text = "#!/bin/bash\n#SBATCH --job-name=teda".to_owned();
    for (key, value) in options {
        text += &match value {
            None => format!("\n#SBATCH --{key}"),
            Some(value) if value.contains([' ', '#']) => format!("\n#SBATCH --{key}='{value}'"),
            Some(value) => format!("\n#SBATCH --{key}={value}"),
        };
    }
    text
}
