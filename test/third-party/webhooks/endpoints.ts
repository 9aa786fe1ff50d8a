// The configured endpoints with their secrets, which are read once at the start and never shown.
import { readFileSync, statSync } from 'node:fs'
import type { Config, EndpointConfig } from './settings.ts'

export interface Endpoint {
  readonly name: string
  readonly url: URL
  readonly key: Buffer // signs deliveries
  readonly addresses: 'public' | 'any' // that deliveries may connect to
}

type Env = Readonly<Record<string, string | undefined>>

const minKeyBytes = 24

/** Throws for the first invalid endpoint. The message names the endpoint, and never contains its secret or URL. */
export function readEndpoints({ endpoints }: Config, env: Env): readonly Endpoint[] {
  const duplicate = endpoints.find(({ name }, i) => endpoints.findIndex(other => other.name === name) < i)
  if (duplicate) throw new Error(`two endpoints are named ${duplicate.name}; give each a unique name`)
  return endpoints.map(endpoint => ({
    name: endpoint.name,
    url: urlOf(endpoint),
    key: keyOf(endpoint, env),
    addresses: endpoint.allow_private ? 'any' : 'public'
  }))
}

function urlOf({ name, url: text, allow_private }: EndpointConfig): URL {
  const url = URL.parse(text)
  if (!url) throw new Error(`url of endpoint ${name} is not a valid URL`)
  if (url.username !== '' || url.password !== '')
    throw new Error(
      `url of endpoint ${name} contains a user name or password; remove it, since the signature authenticates requests`
    )
  if (url.protocol === 'http:' && !allow_private)
    throw new Error(`url of endpoint ${name} must be https; plain http needs allow_private`)
  return url
}

function keyOf(endpoint: EndpointConfig, env: Env): Buffer {
  const { name } = endpoint
  const secret = secretOf(endpoint, env).trim()
  const key = secret.startsWith('whsec_')
    ? Buffer.from(secret.slice('whsec_'.length), 'base64')
    : Buffer.from(secret)
  if (key.length < minKeyBytes)
    throw new Error(
      `the secret of endpoint ${name} must have at least ${minKeyBytes} bytes, but ` +
        `${endpoint.secret_file ?? `the variable ${endpoint.secret_env}`} has ${key.length}`
    )
  return key
}

function secretOf({ name, secret_file: file, secret_env: variable }: EndpointConfig, env: Env): string {
  if ((file === undefined) === (variable === undefined))
    throw new Error(`endpoint ${name} needs either secret_file or secret_env`)
  if (file === undefined) return env[variable ?? ''] ?? ''
  if (process.platform !== 'win32' && (statSync(file).mode & 0o077) !== 0)
    throw new Error(`other users can read ${file}, the secret of endpoint ${name}; run: chmod 600 ${file}`)
  return readFileSync(file, 'utf8')
}
