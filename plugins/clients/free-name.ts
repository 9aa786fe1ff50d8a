// The name of a client that nobody named: from the name of its host.
import type { EntityManager } from '@mikro-orm/sql'
import { Fault } from '../../kernel/base/errors.ts'
import { Client } from '../../kernel/identity/entities.ts'
import { newId } from '../../kernel/platform/id.ts'
import { normalizeName } from './name-and-address.ts'

const maxChars = 200 // leaves space for a suffix
const numbered = 99 // hosts of one name; further ones get a random suffix

/** Returns the host name, or the host name with a suffix if a client has it or no client may have it. */
export async function freeName(hostName: string, em: EntityManager): Promise<string> {
  const base = baseOf(hostName)
  const suffixed = Array.from({ length: numbered - 1 }, (_, i) => `${base}-${i + 2}`)
  const names = [base, ...suffixed].filter(isLegal)
  const rows = await em.find(Client, { name: { $in: names } }, { fields: ['name'] })
  const taken = new Set(rows.map(({ name }) => name))
  return names.find(name => !taken.has(name)) ?? `${base}-${newId().slice(-8).toLowerCase()}`
}

/** Replaces everything but letters, digits, `.`, `_` and `-`, and drops what a name must not begin with. */
const baseOf = (hostName: string): string =>
  hostName
    .replaceAll(/[^\w.-]+/g, '-')
    .replace(/^[-_.]+/, '')
    .slice(0, maxChars) || 'host'

function isLegal(name: string): boolean {
  try {
    return normalizeName(name) === name
  } catch (error) {
    if (error instanceof Fault) return false
    throw error
  }
}
