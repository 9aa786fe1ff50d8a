// Who this agent is and whom it trusts: the file that `agent enroll` writes and `agent run` reads.
import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync
} from 'node:fs'
import { dirname } from 'node:path'
import { type Static, type TObject, Type } from 'typebox'
import { Check } from 'typebox/value'
import { requirePrivateFile } from '../../kernel/base/config.ts'
import { Fault, startupInvalid } from '../../kernel/base/errors.ts'

const Fingerprint = Type.String({ pattern: '^[0-9a-f]{64}$' })

/** Written before the code is redeemed: what a lost answer is asked for again with. */
const PendingBundle = Type.Object({
  version: Type.Literal(1),
  server_endpoint: Type.String(),
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

const pendingOf = (file: string): string => `${file}.pending`

/** Null where there is none. */
export const readBundle = (file: string): Bundle | null => readJson(Bundle, file)
export const readPending = (file: string): PendingBundle | null => readJson(PendingBundle, pendingOf(file))
export const hasPending = (file: string): boolean => existsSync(pendingOf(file))
export const writePending = (file: string, pending: PendingBundle): void => write(pendingOf(file), pending)

/** In this order: whoever finds no pending one reads a bundle that is final. */
export function writeBundle(file: string, bundle: Bundle): void {
  write(file, bundle)
  rmSync(pendingOf(file), { force: true })
}

/** A start with this bundle opens nothing. One that holds another token by now is left alone. */
export function markRevoked(file: string, token: string, revokedAt: string): void {
  const bundle = readBundle(file)
  if (bundle?.token === token) write(file, { ...bundle, revoked_at: revokedAt })
}

/** Trusted beside the present leaf from now on; '' takes it back. False for a bundle that holds another token by now. */
export function saveNextPin(file: string, token: string, fingerprint: string): boolean {
  const bundle = readBundle(file)
  if (bundle?.token !== token) return false
  const { next_server_cert_sha256: before = '', ...rest } = bundle
  if (before !== fingerprint)
    write(file, { ...rest, ...(fingerprint !== '' && { next_server_cert_sha256: fingerprint }) })
  return true
}

/** The server has shown the next leaf: it is the present one, and the old one is trusted no more. */
export function promoteNextPin(file: string, token: string): void {
  const bundle = readBundle(file)
  if (bundle?.token !== token || bundle.next_server_cert_sha256 === undefined) return
  const { next_server_cert_sha256: server_cert_sha256, ...rest } = bundle
  write(file, { ...rest, server_cert_sha256 })
}

function readJson<S extends TObject>(schema: S, file: string): Static<S> | null {
  const text = textOf(file)
  if (text === null) return null
  requirePrivateFile(file, 'a token')
  try {
    const value: unknown = JSON.parse(text)
    if (Check(schema, value)) return value
  } catch (cause) {
    throw new Fault(startupInvalid, `bundle ${file} is no JSON; run sluice agent enroll again`, { cause })
  }
  throw new Fault(startupInvalid, `bundle ${file} is not of the form that this agent knows (version 1)`)
}

function textOf(file: string): string | null {
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return null // what readFileSync throws
    throw new Fault(startupInvalid, `bundle ${file} cannot be read: ${String(cause)}`, { cause })
  }
}

/** Whole or not at all, also when the power goes. */
function write(file: string, value: object): void {
  const draft = `${file}.${process.pid}.tmp`
  const fd = openSync(draft, 'w', 0o600)
  writeSync(fd, `${JSON.stringify(value, null, 2)}\n`)
  fsyncSync(fd)
  closeSync(fd)
  renameSync(draft, file)
  if (process.platform === 'win32') return // it opens no directory
  const dir = openSync(dirname(file), 'r')
  fsyncSync(dir)
  closeSync(dir)
}
