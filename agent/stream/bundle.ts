// The agent's identity and the server that it trusts: the file that `agent enroll` writes and `agent run` reads.
import {
  closeSync,
  existsSync,
  fchownSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync
} from 'node:fs'
import { dirname } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { type Static, type TObject, Type } from 'typebox'
import { Check } from 'typebox/value'
import { requirePrivateFile } from '../../kernel/base/directory.ts'
import { Fault, startupInvalid } from '../../kernel/base/errors.ts'
import { syncDir } from '../../kernel/platform/sync-file.ts'

const Fingerprint = Type.String({ pattern: '^[0-9a-f]{64}$' })

/** Written before the code is redeemed, so that the request can be retried if its response is lost. */
const PendingBundle = Type.Object({
  version: Type.Literal(1),
  server_endpoint: Type.String(), // of the enrollment
  server_endpoints: Type.Optional(Type.Array(Type.String())), // from the server; tried before server_endpoint
  server_cert_sha256: Fingerprint,
  token: Type.String({ minLength: 1 })
})

const Bundle = Type.Object({
  ...PendingBundle.properties,
  client_id: Type.String(),
  client_name: Type.String(),
  next_server_cert_sha256: Type.Optional(Fingerprint),
  revoked_at: Type.Optional(Type.String())
})

export type PendingBundle = Static<typeof PendingBundle>
export type Bundle = Static<typeof Bundle>

const pendingPath = (file: string): string => `${file}.pending`

/** Returns null if there is no file. Throws Fault if the file is not a valid bundle. */
export const readBundle = (file: string): Bundle | null => readJson(Bundle, file)
export const readPending = (file: string): PendingBundle | null => readJson(PendingBundle, pendingPath(file))
export const hasPending = (file: string): boolean => existsSync(pendingPath(file))
export const writePending = (file: string, pending: PendingBundle): void => write(pendingPath(file), pending)

/** Writes the bundle before it deletes the pending one: a reader that finds no pending file reads the final bundle. */
export function writeBundle(file: string, bundle: Bundle): void {
  write(file, bundle)
  rmSync(pendingPath(file), { force: true })
}

/** Makes later starts with this token fail. Does nothing if the bundle has another token by now. */
export function markRevoked(file: string, token: string, revokedAt: string): void {
  const bundle = readBundle(file)
  if (bundle?.token === token) write(file, { ...bundle, revoked_at: revokedAt })
}

/** Stores the next pin to accept; '' removes it. Returns false if the bundle has another token by now. */
export function saveNextPin(file: string, token: string, fingerprint: string): boolean {
  const bundle = readBundle(file)
  if (bundle?.token !== token) return false
  const { next_server_cert_sha256: current = '', ...rest } = bundle
  if (current !== fingerprint)
    write(file, { ...rest, ...(fingerprint !== '' && { next_server_cert_sha256: fingerprint }) })
  return true
}

/** Stores the endpoints from the server. Returns false if the bundle has another token by now. */
export function saveEndpoints(file: string, token: string, endpoints: readonly string[]): boolean {
  const bundle = readBundle(file)
  if (bundle?.token !== token) return false
  const { server_endpoints: current = [], ...rest } = bundle
  if (!isDeepStrictEqual(current, endpoints))
    write(file, { ...rest, ...(endpoints.length > 0 && { server_endpoints: endpoints }) })
  return true
}

/** Returns the accepted fingerprints, the current one first. */
export const pinsOf = (bundle: Pick<Bundle, 'server_cert_sha256' | 'next_server_cert_sha256'>): string[] =>
  [bundle.server_cert_sha256, bundle.next_server_cert_sha256 ?? []].flat()

/** Returns the endpoints from the server, and last the endpoint of the enrollment. */
export const endpointsOf = ({
  server_endpoints: announced = [],
  server_endpoint: enrolled
}: PendingBundle): string[] => [...new Set([...announced, enrolled])]

/** Makes the next pin the current one; the previous certificate is no longer trusted. */
export function promoteNextPin(file: string, token: string): void {
  const bundle = readBundle(file)
  if (bundle?.token !== token || bundle.next_server_cert_sha256 === undefined) return
  const { next_server_cert_sha256: server_cert_sha256, ...rest } = bundle
  write(file, { ...rest, server_cert_sha256 })
}

function readJson<S extends TObject>(schema: S, file: string): Static<S> | null {
  const text = readText(file)
  if (text === null) return null
  requirePrivateFile(file, 'a token')
  try {
    const value: unknown = JSON.parse(text)
    if (Check(schema, value)) return value
  } catch (cause) {
    throw new Fault(startupInvalid, `bundle ${file} is not JSON; run sluice agent enroll again`, { cause })
  }
  throw new Fault(startupInvalid, `bundle ${file} has an unknown format; this agent supports version 1`)
}

function readText(file: string): string | null {
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return null // readFileSync throws this type
    throw new Fault(startupInvalid, `bundle ${file} cannot be read: ${String(cause)}`, { cause })
  }
}

/**
 * Replaces the file atomically and durably: after a power failure it has either the old or the new content. Root gives it to
 * the owner of the directory, so that the service can read it, and follows no link that this user has made there.
 */
function write(file: string, value: object): void {
  const draft = `${file}.${process.pid}.tmp`
  rmSync(draft, { force: true })
  const fd = openSync(draft, 'wx', 0o600)
  try {
    writeFileSync(fd, `${JSON.stringify(value, null, 2)}\n`, { flush: true })
    const { uid, gid } = statSync(dirname(file))
    if (process.getuid?.() === 0) fchownSync(fd, uid, gid)
  } finally {
    closeSync(fd)
  }
  renameSync(draft, file)
  syncDir(dirname(file))
}
