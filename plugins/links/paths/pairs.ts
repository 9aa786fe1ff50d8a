import type { RuleCore } from '../../rules/exports.ts'

/** The clients of a link: the one towards the entry, and the one towards the exit. */
export type Pair = readonly [near: string, far: string]

/** Returns the neighbors on the paths of a rule, each pair once. A rule without paths has none. */
export function pairsOf({ clientId, targets }: Pick<RuleCore, 'clientId' | 'targets'>): Pair[] {
  const pairs = new Map<string, Pair>()
  for (const { path = [] } of targets)
    for (const [at, far] of path.entries()) {
      const near = path[at - 1] ?? clientId
      pairs.set(`${near} ${far}`, [near, far])
    }
  return [...pairs.values()]
}
