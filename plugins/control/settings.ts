import { type Static, Type } from 'typebox'
import { throwProblems, validateConfig } from '../../kernel/base/config.ts'
import { Listen } from '../../kernel/settings.ts'
import type { Leaf } from './certificate.ts'

export const keys = Type.Object({
  control_listen: Listen('[::]:7443', 'Address of the control stream; falls back to 0.0.0.0 without IPv6.'),
  advertised_endpoint: Type.Optional(
    Type.String({
      description: 'host:port under which agents reach the control stream; the certificate must cover it.'
    })
  ),
  tls_cert_path: Type.Optional(
    Type.String({ description: 'PEM leaf of the control stream; self-made without.' })
  ),
  tls_key_path: Type.Optional(Type.String({ description: 'PEM key of the control stream.' }))
})

interface ControlSettings {
  readonly listen: string // '[::]:7443' (dual stack, else 0.0.0.0), '127.0.0.1:0'
  readonly seed: string | null
  readonly leaf: Leaf
}

/** An empty variable of the environment is as if it were not there. */
export function settingsOf(config: Static<typeof keys>): ControlSettings {
  const seed = config.advertised_endpoint || null
  return {
    listen: config.control_listen,
    seed,
    leaf: {
      names: seed === null ? [] : [seed.slice(0, Math.max(0, seed.lastIndexOf(':')))],
      ...(config.tls_cert_path && { certPath: config.tls_cert_path }),
      ...(config.tls_key_path && { keyPath: config.tls_key_path })
    }
  }
}

/** For commands: what the configuration says of the leaf. */
export function leafIn(given: Readonly<Record<string, unknown>>): Leaf {
  const own = Object.entries(given).filter(([key]) => key in keys.properties)
  const { value, problems } = validateConfig(keys, Object.fromEntries(own), '')
  throwProblems(problems)
  return settingsOf(value as Static<typeof keys>).leaf // settle found no problem
}
