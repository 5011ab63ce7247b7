// The flags that say which sessions are meant, the same for listing, searching and exporting.
import type { Command } from 'commander'
import { OUTCOMES } from '../model.ts'

export interface FilterFlags {
  flavor?: string
  repo?: string
  domain?: string
  model?: string
  outcome?: string
  touched?: string
  tool?: string
  hasError?: boolean
  evicted?: boolean
  since?: string
  until?: string
}

export function addFilters(command: Command): Command {
  return command
    .option('--flavor <name>', 'written by this agent')
    .option('--repo <name>', 'in this repository')
    .option('--domain <name>', 'in this domain')
    .option('--model <name>', 'with this model')
    .option('--outcome <outcome>', OUTCOMES.join(', '))
    .option('--touched <file>', 'that read or changed this file (a path, or the end of one)')
    .option('--tool <name>', 'with this tool')
    .option('--has-error', 'in which something failed')
    .option('--evicted', 'whose raw events are gone')
    .option('--since <time>', 'active since (a date, or an age such as 7d)')
    .option('--until <time>', 'begun until')
}
