import { isIP } from 'node:net'
import { defineCode, Fault } from '../../kernel/base/errors.ts'
import { controlChars } from '../../kernel/base/log.ts'
import { isId } from '../../kernel/platform/id.ts'

export const invalidClientName = defineCode('invalid_client_name', 400, 3)
export const invalidClientAddress = defineCode('invalid_client_address', 400, 3)

const dnsLabel = /^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$/i

/** Returns the trimmed name, or throws `invalid_client_name`. */
export function normalizeName(given: string): string {
  const name = given.trim()
  const bytes = Buffer.byteLength(name)
  if (bytes === 0) refuseName('is empty; give 1 to 255 bytes')
  if (bytes > 255) refuseName(`has ${bytes} bytes; the maximum is 255`)
  if (controlChars.test(name) || !name.isWellFormed())
    refuseName('contains control or bidirectional characters; remove them')
  if (isReservedName(name))
    refuseName(`is ${name}, which commands and documents read as something else; choose another`)
  if (isId(name.toUpperCase())) refuseName('has the form of a client_id; choose another')
  return name
}

/** True for names that mean something else where a client can be named: all clients, the caller, a list, the operator. */
export const isReservedName = (name: string): boolean => /^(\*|-|all|me|[@_].*)$/is.test(name)

/** Returns the address as given; throws `invalid_client_address` if it is neither a bare host nor null. */
export function normalizeAddress(given: string | null): string | null {
  if (given === null || isBareHost(given)) return given
  const hint = given === '' ? 'null clears it' : 'give a DNS name or an IP address, without port or brackets'
  throw new Fault(invalidClientAddress, `the address is not a bare host: ${hint}`)
}

/** True for a DNS name or an IP address without a port, brackets or a zone. */
export function isBareHost(host: string): boolean {
  if (isIP(host) !== 0) return !host.includes('%') // a zone id is only valid on one machine
  const name = host.replace(/\.$/, '')
  const labels = name.split('.')
  return (
    name.length <= 253 && labels.every(label => dnsLabel.test(label)) && !/^\d+$/.test(labels.at(-1) ?? '')
  )
}

function refuseName(why: string): never {
  throw new Fault(invalidClientName, `the name ${why}`)
}
