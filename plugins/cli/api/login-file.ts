// The file of `sluice login`: one token per server, readable by its owner only.
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, isAbsolute, join } from 'node:path'
import { systemClock } from '../../../kernel/base/clock.ts'
import { requirePrivateFile } from '../../../kernel/base/directory.ts'
import { Fault, unauthenticated, wrongUsage } from '../../../kernel/base/errors.ts'

type Env = Readonly<Record<string, string | undefined>>

export interface Login {
  readonly user_id: string
  readonly credential_id: string
  readonly token: string
  readonly expires_at: string // RFC 3339
  readonly cacert?: string // PEM certificates to trust for this server
}

type Logins = Readonly<Record<string, Login>>

export const loginFile = (env: Env): string =>
  join(configHome(env['XDG_CONFIG_HOME'] ?? '', env), 'sluice', 'credentials.json')

/** The XDG specification forbids relative paths. */
const configHome = (given: string, env: Env): string =>
  isAbsolute(given) ? given : join(env['HOME'] || homedir(), '.config')

export function readLogin(file: string, origin: string): Login | undefined {
  return URL.canParse(origin) ? read(file)[keyOf(origin)] : undefined
}

/** Returns the token from the environment, else from a login on this machine. Throws Fault if it cannot be used. */
export async function tokenFor(origin: string, env: Env): Promise<string | undefined> {
  for (const name of ['SVC_TOKEN', 'SVC_OPERATOR_TOKEN']) {
    const given = env[name]
    if (given === undefined) continue
    if (/^[\w.~+/=-]+$/.test(given)) return given
    const { requireSecret, tokenProblem } = await import('../../../kernel/platform/secret-problem.ts')
    return requireSecret(name, given, tokenProblem)
  }
  const login = readLogin(loginFile(env), origin)
  if (login && Date.parse(login.expires_at) <= systemClock.now())
    throw new Fault(
      unauthenticated,
      `the login of ${login.user_id} has expired; run sluice login, or sluice login ${login.user_id}`
    )
  return login?.token
}

/** Saves the login; null deletes it. */
export function writeLogin(file: string, origin: string, login: Login | null): void {
  const { [keyOf(origin)]: _, ...others } = read(file)
  const servers = login === null ? others : { ...others, [keyOf(origin)]: login }
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  const draft = `${file}.${process.pid}.tmp`
  writeFileSync(draft, `${JSON.stringify({ version: 1, servers }, null, 2)}\n`, { mode: 0o600, flush: true })
  renameSync(draft, file)
}

function read(file: string): Logins {
  if (!existsSync(file)) return {}
  requirePrivateFile(file, 'tokens')
  try {
    const value: unknown = JSON.parse(readFileSync(file, 'utf8'))
    if (isFile(value)) return value.servers
  } catch (cause) {
    throw new Fault(wrongUsage, `${file} is not JSON; remove it and log in again`, { cause })
  }
  throw new Fault(
    wrongUsage,
    `${file} has a format that this version does not support; remove it and log in again`
  )
}

const isFile = (value: unknown): value is { readonly servers: Logins } =>
  isObject(value) &&
  value['version'] === 1 &&
  isObject(value['servers']) &&
  Object.values(value['servers']).every(isLogin)

const isLogin = (value: unknown): value is Login =>
  isObject(value) &&
  ['user_id', 'credential_id', 'token', 'expires_at'].every(key => typeof value[key] === 'string') &&
  /^(string|undefined)$/.test(typeof value['cacert'])

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null

/** Scheme, host, port and path identify a server. */
function keyOf(server: string): string {
  const { origin, pathname } = new URL(server)
  return origin + pathname.replace(/\/+$/, '')
}
