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

/** A transcript that was not written to for some days is deleted when the agent starts. The number stands in a JSON file. */
export interface KeepFacts {
  file(env: Environment): string
  /** At the top, or below other keys (`a.b.c`). */
  readonly key: string
  /** It is a text with a unit (`30d`), not a number of days. */
  readonly isText?: boolean
  /** Where this one is false, nothing is deleted. */
  readonly switch?: string
  /** Without the setting, or with one that is no number of days. */
  readonly defaultDays: number
  /** Proposed in its place: for ever, as far as anybody cares. */
  readonly proposedDays: number
}

export interface HookFacts {
  /** The file that holds the user's hooks. */
  file(env: Environment): string
  /**
   * How they stand in it: `groups` (where left out) as `{"hooks": {event: [{"hooks": [handler]}]}}`; `lists`, in a file of our
   * own, as `{"version": 1, "hooks": {event: [handler]}}`; `tables` as `[[hooks]]` in TOML; `plugin` as a module of our own that
   * the agent loads and tells its events; `script` as a shell script of our own, whose name is that of the one event.
   */
  readonly form?: 'groups' | 'lists' | 'tables' | 'plugin' | 'script'
  /** What the agent says to a hook names no transcript: so the handler is told whose hook it is. */
  readonly namesNoFile?: boolean
  /** Another program's hooks may stand in the file. */
  readonly isShared: boolean
  /** The events to install, by the agent's own names. */
  readonly events: readonly string[]
  /** By which it lets a handler answer, in JSON on stdout: with words for the model, or by stopping. Installed only when asked for. */
  readonly answers?: {
    /** After a call that failed; or after every call, where it makes no difference between them. */
    readonly failed: string
    /** When a person sent a prompt. */
    readonly prompt: string
    /** Before a call. */
    readonly call: string
  }
  /** In what the agent counts how long it waits; seconds where left out. */
  readonly timeUnit?: 'ms'
  /** The setting that turns all hooks off; in the file of the hooks where no other is named. */
  readonly off?: { readonly key: string; readonly when: boolean; file?(env: Environment): string }
  /** What else keeps installed handlers from running, if anything. */
  obstacle?(look: HookLook): Obstacle | undefined
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
