// The texts a scheduler wants: systemd units, a launchd agent, a line of a crontab. Pure.

/** How often, in the few steps that every scheduler can say. */
export const EVERY = ['15m', 'hourly', 'daily', 'weekly'] as const
export type Every = (typeof EVERY)[number]
export const EVERY_MS: Record<Every, number> = {
  '15m': 900_000,
  hourly: 3_600_000,
  daily: 86_400_000,
  weekly: 604_800_000,
}

/** What is to be run. */
export interface Job {
  every: Every
  /** Program and arguments. */
  command: readonly string[]
  /** Variables that only the present shell knows. */
  env: Readonly<Record<string, string>>
}

export const UNIT = 'recollect-sweep'
export const LABEL = 'dev.recollect.sweep'
export const CRON_MARK = '# recollect schedule'

const DESCRIPTION = 'Recollect: read what coding agents left into the memory'
/** Something was not understood (4), or another sweep is running (5): neither needs anybody. */
const HARMLESS = '4 5'

const ON_CALENDAR: Record<Every, string> = {
  '15m': '*:0/15',
  hourly: 'hourly',
  daily: 'daily',
  weekly: 'weekly',
}

export function systemdService({ command, env }: Job): string {
  const environment = Object.entries(env).map(
    ([name, value]) => `Environment=${unitWord(`${name}=${value}`, false)}\n`,
  )
  return `[Unit]
Description=${DESCRIPTION}

[Service]
Type=oneshot
ExecStart=${command.map((word) => unitWord(word, true)).join(' ')}
${environment.join('')}SuccessExitStatus=${HARMLESS}
Nice=10
IOSchedulingClass=idle
`
}

/** Persistent: a machine that was off makes up for it. */
export function systemdTimer({ every }: Job): string {
  return `[Unit]
Description=${DESCRIPTION}

[Timer]
OnCalendar=${ON_CALENDAR[every]}
Persistent=true
RandomizedDelaySec=60

[Install]
WantedBy=timers.target
`
}

/** How often an installed text says; undefined where somebody changed it. */
export const everyIn = (text: string): Every | undefined =>
  EVERY.find(
    (every) =>
      text.includes(`OnCalendar=${ON_CALENDAR[every]}\n`) ||
      text.includes(launchdTime(every)) ||
      text.split('\n').some((line) => line.startsWith(`${CRON_TIME[every]} `)),
  )

/** Quoted; specifiers (%) and, in commands, variables ($) are doubled so that they stand for themselves. */
function unitWord(text: string, isCommand: boolean): string {
  const plain = text.replace(/[\\"]/g, '\\$&').replaceAll('%', '%%').replaceAll('\n', '\\n')
  return `"${isCommand ? plain.replaceAll('$', '$$$$') : plain}"`
}

export function launchdAgent({ every, command, env }: Job): string {
  const words = command.map((word) => `    <string>${xml(word)}</string>\n`).join('')
  const variables = Object.entries(env)
    .map(([name, value]) => `    <key>${xml(name)}</key>\n    <string>${xml(value)}</string>\n`)
    .join('')
  return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>${LABEL}</string>
  <key>ProgramArguments</key>
  <array>
${words}  </array>
${variables === '' ? '' : `  <key>EnvironmentVariables</key>\n  <dict>\n${variables}  </dict>\n`}${launchdTime(every)}  <key>ProcessType</key>
  <string>Background</string>
  <key>LowPriorityIO</key>
  <true/>
  <key>Nice</key>
  <integer>10</integer>
</dict>
</plist>
`
}

/** An interval stops with the machine; a time of day is made up for when it wakes. */
function launchdTime(every: Every): string {
  if (every === '15m' || every === 'hourly')
    return `  <key>StartInterval</key>\n  <integer>${every === '15m' ? 900 : 3600}</integer>\n`
  const fields = { Hour: 12, Minute: 7, ...(every === 'weekly' ? { Weekday: 1 } : {}) }
  const body = Object.entries(fields).map(
    ([name, value]) => `    <key>${name}</key>\n    <integer>${value}</integer>\n`,
  )
  return `  <key>StartCalendarInterval</key>\n  <dict>\n${body.join('')}  </dict>\n`
}

const xml = (text: string): string => text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`)

/** Noon: cron does not make up for the time a machine was off. */
const CRON_TIME: Record<Every, string> = {
  '15m': '*/15 * * * *',
  hourly: '7 * * * *',
  daily: '7 12 * * *',
  weekly: '7 12 * * 1',
}

export function cronLine({ every, command, env }: Job): string {
  const variables = Object.entries(env).map(([name, value]) => `${name}=${quoted(value)} `)
  const run = `${variables.join('')}nice -n 10 ${command.map(quoted).join(' ')} >/dev/null 2>&1`
  // A bare % ends the command.
  return `${CRON_TIME[every]} ${run.replaceAll('%', '\\%')} ${CRON_MARK}`
}

/** For `sh` alone. */
export const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

/** A crontab with our line at its end, once; or without it. Every other line stays as it is. */
export function withCronLine(crontab: string, line: string | undefined): string {
  const others = crontab.split('\n').filter((one) => !one.endsWith(CRON_MARK))
  const kept = others.join('\n')
  if (line === undefined) return kept
  return `${kept === '' || kept.endsWith('\n') ? kept : `${kept}\n`}${line}\n`
}
