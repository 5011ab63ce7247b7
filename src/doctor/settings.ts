// The settings with everything about them checked, also what else only those who need a setting look at.
import { Config } from '../config.ts'
import { extraRoots } from '../sources/roots.ts'
import { overridesOf } from '../usage/overrides.ts'

/** Throws BAD_CONFIG, with the place. */
export function checkedConfig(env: Record<string, string | undefined> = process.env): Config {
  const config = new Config({ env })
  overridesOf(config)
  extraRoots(config)
  return config
}
