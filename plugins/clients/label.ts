// What a client may be called, and where it may be reached.
import { isIP } from 'node:net'
import { defineCode, Fault } from '../../kernel/base/errors.ts'
import { isId } from '../../kernel/base/id.ts'
import { unseen } from '../../kernel/base/log.ts'

export const invalidClientName = defineCode('invalid_client_name', 400, 3)
export const invalidClientAddress = defineCode('invalid_client_address', 400, 3)

const dnsLabel = /^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$/i

/** The name as it is kept. */
export function nameOf(given: string): string {
  const name = given.trim()
  const bytes = Buffer.byteLength(name)
  if (bytes === 0) refuseName('is empty; give 1 to 255 bytes')
  if (bytes > 255) refuseName(`has ${bytes} bytes; 255 are the most`)
  if (unseen.test(name) || !name.isWellFormed())
    refuseName('holds control or bidirectional characters; take them out')
  if (isId(name.toUpperCase())) refuseName('has the form of a client_id; choose another')
  return name
}

/** The address as it is kept: a bare host, or none. */
export function addressOf(given: string | null): string | null {
  if (given === null || isBareHost(given)) return given
  const hint = given === '' ? 'null clears it' : 'give a DNS name or an IP address, without port or brackets'
  throw new Fault(invalidClientAddress, `the address is not a bare host: ${hint}`)
}

function isBareHost(host: string): boolean {
  if (isIP(host) !== 0) return !host.includes('%') // a zone means something on one machine only
  const name = host.replace(/\.$/, '')
  const labels = name.split('.')
  return (
    name.length <= 253 && labels.every(label => dnsLabel.test(label)) && !/^\d+$/.test(labels.at(-1) ?? '')
  )
}

function refuseName(why: string): never {
  throw new Fault(invalidClientName, `the name ${why}`)
}
