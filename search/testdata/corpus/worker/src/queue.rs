//! A queue of jobs with retries.

use std::collections::VecDeque;
use std::time::Duration;

/// A unit of work.
pub struct Job {
    pub name: String,
    pub attempts: u32,
}

/// Jobs in order of arrival; failed ones come back later.
pub struct Queue {
    waiting: VecDeque<Job>,
    max_attempts: u32,
}

impl Queue {
    pub fn new(max_attempts: u32) -> Self {
        Queue { waiting: VecDeque::new(), max_attempts }
    }

    /// Puts a job at the end.
    pub fn push(&mut self, job: Job) {
        self.waiting.push_back(job);
    }

    /// Puts a failed job back, or gives it up after too many attempts.
    pub fn retry(&mut self, mut job: Job) -> Option<Duration> {
        job.attempts += 1;
        if job.attempts >= self.max_attempts {
            return None;
        }
        let wait = backoff(job.attempts);
        self.waiting.push_back(job);
        Some(wait)
    }
}

/// Exponential backoff: one second, two, four, at most a minute.
pub fn backoff(attempts: u32) -> Duration {
    Duration::from_secs(1u64.checked_shl(attempts.saturating_sub(1)).unwrap_or(60).min(60))
}
