// The token for the hub: taken from the environment at the moment of sending, never stored, never part of a message.
import type { Config } from '../config.ts'
import { RecollectError } from '../errors.ts'

/** Empty when none is asked for. Throws BAD_CONFIG where it cannot be sent, or not without being overheard. */
export function hubToken(config: Config, env: Record<string, string | undefined>): string {
  const name = config.get('hub.token_env')
  if (name === '') return ''
  const token = env[name]?.trim() ?? ''
  const refuse = (message: string, hint: string): never => {
    throw new RecollectError('BAD_CONFIG', message, { where: config.place('hub.token_env'), hint })
  }
  if (token === '')
    return refuse(
      `hub.token_env names ${name}, which is not set here`,
      `export ${name} where sweeps are started; schedules and hooks have an environment of their own`,
    )
  // The runtime names a header it refuses in full: so it must never see one.
  if (!/^[\x21-\x7e]+$/.test(token))
    return refuse(`${name} holds no token: only printable ASCII without spaces`, 'set it to the token alone')
  const { protocol, hostname } = new URL(config.get('hub.url'))
  if (protocol !== 'https:' && !isThisMachine(hostname))
    return refuse('a token is sent by https only, or to this machine', 'write hub.url with https://')
  return token
}

const isThisMachine = (host: string): boolean =>
  host === 'localhost' || host === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(host)
