// The configured channels, checked. Errors name the key, and never contain a secret or more than the host of a URL.
import { Fault, startupInvalid } from '../../kernel/base/errors.ts'
import { isLoopback } from '../../kernel/platform/network.ts'
import { readSecret } from './read-secret.ts'
import { type ChannelConfig, type Config, maxChannels } from './settings.ts'

/** A channel with settings that fit its type. */
export interface Channel {
  readonly name: string
  readonly type: ChannelConfig['type']
  readonly kinds: readonly string[] | null // null: all
  readonly user: string | null
  readonly url: URL | null // null: the secret is the URL
  readonly to: readonly string[]
  readonly from: string
  readonly chat: string
  readonly secretFile: string | null
}

interface Shape {
  readonly url: 'required' | 'optional' | 'or secret'
  readonly secret: 'required' | 'optional' | 'url'
  readonly also?: readonly ('to' | 'from' | 'chat')[] // required, and refused for other types
}

const shapes: Readonly<Record<ChannelConfig['type'], Shape>> = {
  webhook: { url: 'required', secret: 'required' },
  smtp: { url: 'required', secret: 'optional', also: ['to', 'from'] },
  slack: { url: 'or secret', secret: 'url' },
  discord: { url: 'or secret', secret: 'url' },
  telegram: { url: 'optional', secret: 'required', also: ['chat'] },
  ntfy: { url: 'required', secret: 'optional' },
  gotify: { url: 'required', secret: 'required' }
}
const minKeyBytes = 24

const refuse = (key: string, problem: string): never => {
  throw new Fault(startupInvalid, `plugins.notify.${key} ${problem}`)
}

/** Returns the channels in the order of their names. Throws Fault for the first invalid one; reads no file. */
export function channelsIn({ channels }: Config): Channel[] {
  const names = Object.keys(channels).sort()
  if (names.length > maxChannels)
    refuse('channels', `has ${names.length} channels; at most ${maxChannels} are allowed, remove some`)
  return names.flatMap(name => {
    if (!/^[a-z][a-z0-9_-]{0,31}$/.test(name))
      refuse(
        `channels.${JSON.stringify(name)}`,
        'must be 1 to 32 of a-z, 0-9, _ and -, a letter first; rename it'
      )
    const channel = channels[name]
    return channel ? [toChannel(name, channel)] : []
  })
}

/** Checks also the secret files and kinds. For the start, a reload and `config check`. */
export function checkConfig(config: Config, knownKinds: readonly string[]): void {
  for (const channel of channelsIn(config)) {
    const { name, kinds } = channel
    const unknown = kinds?.find(kind => !knownKinds.includes(kind))
    if (unknown !== undefined)
      refuse(
        `channels.${name}.kinds`,
        `has ${unknown}, which no loaded plugin has; use some of ${knownKinds.join(', ')}`
      )
    secretOf(channel)
  }
}

function toChannel(name: string, given: ChannelConfig): Channel {
  const { type, kinds = null, user = null, secret_file: secretFile = null } = given
  const shape = shapes[type]
  const at = `channels.${name}`
  for (const key of ['to', 'from', 'chat'] as const) {
    const isNeeded = shape.also?.includes(key) ?? false
    if (isNeeded && given[key] === undefined)
      refuse(`${at}.${key}`, `is required for the type ${type}; add it`)
    if (!isNeeded && given[key] !== undefined)
      refuse(`${at}.${key}`, `is not for the type ${type}; remove it`)
  }
  if (shape.secret === 'required' && secretFile === null)
    refuse(`${at}.secret_file`, `is required for the type ${type}; name a file with the secret`)
  if (shape.url === 'required' && given.url === undefined)
    refuse(`${at}.url`, `is required for the type ${type}; add it`)
  if (shape.url === 'or secret' && (given.url === undefined) === (secretFile === null))
    refuse(
      `${at}.url`,
      `is required for the type ${type}, or secret_file with the URL in it; set one of them`
    )
  const to = [given.to ?? []].flat()
  for (const address of [...to, ...(given.from === undefined ? [] : [given.from])])
    if (!/^[^\s@<>,;"\p{Cc}]{1,64}@[^\s@<>,;"\p{Cc}]{1,255}$/u.test(address))
      refuse(
        `${at}.${address === given.from ? 'from' : 'to'}`,
        'must be a plain mail address, such as ops@example.com'
      )
  const url = urlFor(at, type, given.url)
  if (type === 'smtp' && url && loginOf(url) === null)
    refuse(`${at}.url`, 'has a USER with a % that begins no character; write % as %25')
  if (type === 'smtp' && (url?.username !== '') !== (secretFile !== null))
    refuse(`${at}.secret_file`, 'and the USER in the url belong together; set both or neither')
  return { name, type, kinds, user, url, to, from: given.from ?? '', chat: given.chat ?? '', secretFile }
}

function urlFor(at: string, type: ChannelConfig['type'], text: string | undefined): URL | null {
  if (type === 'telegram')
    return parseUrl(`${at}.url`, text ?? 'https://api.telegram.org', ['https:', 'http:'])
  if (text === undefined) return null
  return parseUrl(`${at}.url`, text, type === 'smtp' ? ['smtp:', 'smtps:'] : ['https:', 'http:'])
}

function parseUrl(key: string, text: string, protocols: readonly string[]): URL {
  const url = URL.parse(text)
  const forms = protocols.map(protocol => `${protocol}//`).join(' or ')
  if (!url || !protocols.includes(url.protocol) || url.hostname === '')
    return refuse(key, `must be a URL that begins with ${forms}`)
  if (url.password !== '') refuse(key, 'must not contain a password; put it into secret_file')
  if (url.username !== '' && !protocols.includes('smtp:'))
    refuse(key, 'must not contain a user name; put the token into secret_file')
  return url
}

/** Reads the secret of a channel; null if it has none. Throws Fault if the file or its content does not fit. */
export function secretOf({ name, type, secretFile }: Channel): string | null {
  if (secretFile === null) return null
  const key = `channels.${name}.secret_file`
  const secret = readSecret(secretFile, {
    key: `plugins.notify.${key}`,
    refuse: problem => refuse(key, problem)
  })
  if (type === 'webhook' && webhookKey(secret).length < minKeyBytes)
    refuse(
      key,
      `must hold at least ${minKeyBytes} bytes, as text or as whsec_ and base64; write a longer secret`
    )
  if (shapes[type].secret === 'url') parseUrl(key, secret, ['https:', 'http:'])
  else if (type !== 'smtp' && type !== 'webhook' && !/^[\x21-\x7e]+$/.test(secret))
    refuse(key, 'must hold a token without spaces on its first line')
  if (type === 'telegram' && !/^[\w:-]+$/.test(secret))
    refuse(key, 'must hold the token of a bot, such as 123456:ABC-DEF')
  return secret
}

/** Returns the bytes of a webhook's secret. */
export const webhookKey = (secret: string): Buffer =>
  secret.startsWith('whsec_') ? Buffer.from(secret.slice('whsec_'.length), 'base64') : Buffer.from(secret)

/**
 * Returns the host of a channel that sends without TLS over a network; null for others. Webhooks are signed, and
 * mail uses STARTTLS where offered.
 */
export function plainHostOf(channel: Channel): string | null {
  if (channel.type === 'webhook' || channel.type === 'smtp') return null
  const url = channel.url ?? new URL(secretOf(channel) ?? '')
  return url.protocol === 'http:' && !isLoopback(hostOf(url)) ? url.host : null
}

/** Returns the host of a URL, an IPv6 address without brackets. */
export const hostOf = ({ hostname }: URL): string => hostname.replaceAll(/^\[|\]$/g, '')

/** Returns the USER in the URL of a mail server; null if it is not valid URL encoding. */
export function loginOf({ username }: URL): string | null {
  try {
    return decodeURIComponent(username)
  } catch {
    return null
  }
}
