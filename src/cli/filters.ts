// The flags that say which sessions are meant, the same for listing, searching and exporting.
import type { Command } from 'commander'
import { OUTCOMES } from '../model.ts'

export interface FilterFlags {
  flavor?: string
  repo?: string
  here?: boolean
  branch?: string
  host?: string
  domain?: string
  model?: string
  outcome?: string
  touched?: string
  tool?: string
  tag?: string[]
  starred?: boolean
  hasError?: boolean
  evicted?: boolean
  since?: string
  until?: string
}

/** Of an option that may be given several times. */
export const several = (value: string, all: string[] = []): string[] => [...all, value]

export function addFilters<C extends Command>(command: C): C {
  return command
    .option('--flavor <name>', 'written by this agent')
    .option(
      '--repo <name>',
      'in this repository (a name, a part or pattern of one, or a directory such as .)',
    )
    .option('--here', 'in the repository of this directory, its other working trees included')
    .option('--branch <name>', 'on this branch (a part or a pattern will do)')
    .option('--host <name>', 'on this machine (its name or id; a part or a pattern will do)')
    .option('--domain <name>', 'in this domain')
    .option('--model <name>', 'with this model (a part or a pattern will do)')
    .option('--outcome <outcome>', OUTCOMES.join(', '))
    .option('--touched <file>', 'that read or changed this file (a path, or the end of one)')
    .option('--tool <name>', 'with this tool')
    .option('--tag <name>', 'filed under this tag; may be given several times', several)
    .option('--starred', 'that were marked with recollect star')
    .option('--has-error', 'in which something failed')
    .option('--evicted', 'whose raw events are gone')
    .option(
      '--since <time>',
      'active since (a date, a month, yesterday, "last monday", or an age such as 7d)',
    )
    .option('--until <time>', 'begun until')
}
