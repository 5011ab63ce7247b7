// How an agent lets others take part: where its settings stand, which of its events are worth a hook, and whether it
// runs what is written there. Facts only; what is done with them is in capture/.
import type { Environment } from './adapter.ts'

export interface Integration {
  readonly flavor: string
  /** What people call the agent. */
  readonly title: string
  /** The directory of its settings: there once the agent has run. */
  home(env: Environment): string
  /** The variable by which people move it. */
  readonly homeVariable: string
  readonly hooks: HookFacts
  /** How long the agent keeps its own transcripts; absent where it deletes none. */
  readonly keeps?: KeepFacts
}

/** A transcript that was not written to for some days is deleted when the agent starts. The number stands at the top of a JSON file. */
export interface KeepFacts {
  file(env: Environment): string
  readonly key: string
  /** Without the setting, or with one that is no number of days. */
  readonly defaultDays: number
  /** Proposed in its place: for ever, as far as anybody cares. */
  readonly proposedDays: number
}

export interface HookFacts {
  /** The file that holds the user's hooks, as `{"hooks": {event: [{"hooks": [handler]}]}}`. */
  file(env: Environment): string
  /** Another program's hooks may stand in the file. */
  readonly isShared: boolean
  /** The events to install, by the agent's own names. */
  readonly events: readonly string[]
  /** What keeps installed handlers from running, if anything. */
  obstacle(look: HookLook): Obstacle | undefined
}

export interface HookLook {
  env: Environment
  /** The file that holds the hooks, and what stands in it of ours. */
  file: string
  found: readonly InstalledHook[]
  /** What a settings file says: JSON with comments, or TOML. Empty where there is none that can be read. */
  settings(file: string): Record<string, unknown>
}

/** A handler of ours in the file: which entry of the event's list, and which handler of that entry. */
export interface InstalledHook {
  event: string
  group: number
  handler: number
  /** As it stands there. */
  value: unknown
}

export interface Obstacle {
  /** `trust`: the person has to approve the hooks in the agent. `disabled`: a setting turns hooks off. */
  kind: 'trust' | 'disabled'
  /** What is in the way, and what to do. */
  what: string
}
