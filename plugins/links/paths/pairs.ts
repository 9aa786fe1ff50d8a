import type { RuleCore } from '../../rules/exports.ts'

/** The clients of a link: the one towards the entry, and the one towards the exit. */
export type Pair = readonly [near: string, far: string]

/** Returns the neighbors on one path, in order. */
export const pairsOfPath = (entryId: string, path: readonly string[]): Pair[] =>
  path.map((far, at) => [path[at - 1] ?? entryId, far])

/** Returns the neighbors on the paths of a rule, each pair once. A rule without paths has none. */
export function pairsOf({ clientId, targets }: Pick<RuleCore, 'clientId' | 'targets'>): Pair[] {
  const pairs = new Map<string, Pair>()
  for (const { path = [] } of targets)
    for (const [near, far] of pairsOfPath(clientId, path)) pairs.set(`${near} ${far}`, [near, far])
  return [...pairs.values()]
}
