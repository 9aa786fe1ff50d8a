import { createHash } from 'node:crypto'
import type { Rule } from '../../rules/exports.ts'

type Target = Rule['targets'][number]

/**
 * Returns the number that the clients of a path use for a target of a rule. It depends on host, port and path alone, so a
 * target keeps it when others change, and during a change the earlier and the later target have different numbers.
 */
export const targetKey = ({ host, port, path = [] }: Target): number =>
  createHash('sha256')
    .update(JSON.stringify([host, port, path]))
    .digest()
    .readUInt32BE()
