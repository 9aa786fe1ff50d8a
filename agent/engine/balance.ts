import { engineFault } from './engine-fault.ts'

/** Spreads the connections and flows of a rule over its targets. Without it, targets are tried in order of priority. */
export interface Balance {
  /**
   * How a target is chosen, in proportion to the weights. 'round_robin': in turn. 'least_connections': the one with the
   * lowest `TargetCounters.active`. 'source_hash': by the caller's address; if a target fails or is removed, only its
   * callers move to others. 'random_two': the one with fewer `active` of two chosen at random.
   */
  readonly by: 'round_robin' | 'least_connections' | 'source_hash' | 'random_two'
  /** By target. A higher tier is dialed only if all targets of the lower tiers have failed or did not connect. */
  readonly tiers: readonly number[]
  /** By target, 0 to 1,000,000. A target of weight 0 gets no new connections. */
  readonly weights: readonly number[]
  /** For 'source_hash': IPv6 callers that share this prefix length count as one, 1 to 128. Default: 128. */
  readonly ipv6Prefix?: number
}

const maxWeight = 1_000_000

interface Targets {
  readonly targets: readonly unknown[]
  readonly shares?: readonly number[]
}

/** Throws EngineFault EINVAL if a rule's balance does not fit its targets. */
export function checkBalance(
  { by, tiers, weights, ipv6Prefix = 128 }: Balance,
  { targets, shares }: Targets
): void {
  if (!['round_robin', 'least_connections', 'source_hash', 'random_two'].includes(by))
    throw engineFault('EINVAL', `balance.by is unknown: ${by}`)
  if (tiers.length !== targets.length || !tiers.every(Number.isSafeInteger))
    throw engineFault('EINVAL', `balance.tiers must have one integer for each of ${targets.length} targets`)
  if (!Number.isInteger(ipv6Prefix) || ipv6Prefix < 1 || ipv6Prefix > 128)
    throw engineFault('EINVAL', `balance.ipv6Prefix must be 1 to 128, got ${ipv6Prefix}`)
  checkWeights(weights, targets.length)
  if (shares) checkShares(shares, targets.length)
}

export const checkWeights = (weights: readonly number[], targets: number): void =>
  checkEach('weights', weights, targets, maxWeight)

export const checkShares = (shares: readonly number[], targets: number): void =>
  checkEach('shares', shares, targets, 1)

function checkEach(name: string, values: readonly number[], targets: number, highest: number): void {
  const isValid = (value: number) => value >= 0 && value <= highest
  if (values.length !== targets || !values.every(isValid))
    throw engineFault(
      'EINVAL',
      `${name} must have one number from 0 to ${highest} for each of ${targets} targets`
    )
}
