// What a rule hands back, and what stands where a secret was.

export interface Finding {
  start: number
  end: number
  rule: string
}

/** How every marker begins. */
export const MARKER = '[REDACTED:'
