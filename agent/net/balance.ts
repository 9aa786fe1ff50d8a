import { type Balance, maxWeight } from '../engine/balance.ts'
import { type EngineRule, engineFault } from '../engine/engine.ts'

/** Throws EngineFault EINVAL where a rule's balance does not fit its targets. */
export function checkBalance(
  { by, tiers, weights, ipv6Prefix = 128 }: Balance,
  { targets, shares }: Pick<EngineRule, 'targets' | 'shares'>
): void {
  if (!['round_robin', 'least_connections', 'source_hash', 'random_two'].includes(by))
    throw engineFault('EINVAL', `balance.by is ${by}`)
  if (tiers.length !== targets.length || !tiers.every(Number.isSafeInteger))
    throw engineFault(
      'EINVAL',
      `balance.tiers has not one whole number for each of ${targets.length} targets`
    )
  if (!Number.isInteger(ipv6Prefix) || ipv6Prefix < 1 || ipv6Prefix > 128)
    throw engineFault('EINVAL', `balance.ipv6Prefix is ${ipv6Prefix}`)
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
      `${name} has not one number of 0 to ${highest} for each of ${targets} targets`
    )
}
