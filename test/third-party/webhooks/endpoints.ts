// The configured endpoints with their secrets. They are read once, at start; secrets are never shown.
import { readFileSync, statSync } from 'node:fs'
import type { Config, EndpointConfig } from './settings.ts'

export interface Endpoint {
  readonly name: string
  readonly url: URL
  readonly key: Buffer // of the signature
  readonly addresses: 'public' | 'any' // that it may connect to
}

type Env = Readonly<Record<string, string | undefined>>

const minKeyBytes = 24

/** Throws for the first endpoint that is not valid. The message names it, and never contains its secret or URL. */
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
  if (!url) throw new Error(`url of endpoint ${name} cannot be read`)
  if (url.username !== '' || url.password !== '')
    throw new Error(`url of endpoint ${name} holds a credential; the signature authenticates the request`)
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
      `the secret of endpoint ${name} must have ${minKeyBytes} bytes or more, and ` +
        `${endpoint.secret_file ?? `the variable ${endpoint.secret_env}`} has ${key.length}`
    )
  return key
}

function secretOf({ name, secret_file: file, secret_env: variable }: EndpointConfig, env: Env): string {
  if ((file === undefined) === (variable === undefined))
    throw new Error(`endpoint ${name} needs either secret_file or secret_env`)
  if (file === undefined) return env[variable ?? ''] ?? ''
  if (process.platform !== 'win32' && (statSync(file).mode & 0o077) !== 0)
    throw new Error(`others may read ${file}, the secret of endpoint ${name}; run: chmod 600 ${file}`)
  return readFileSync(file, 'utf8')
}
