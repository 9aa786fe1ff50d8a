import { type Balance, maxWeight } from '../balance.ts'
import { type EngineRule, engineFault } from '../engine.ts'

/** Throws EngineFault EINVAL where a rule's balance does not fit its targets. */
export function checkBalance(
  { by, tiers, weights }: Balance,
  { targets }: Pick<EngineRule, 'targets'>
): void {
  if (!['round_robin', 'least_connections', 'source_hash', 'random_two'].includes(by))
    throw engineFault('EINVAL', `balance.by is ${by}`)
  if (tiers.length !== targets.length || !tiers.every(Number.isSafeInteger))
    throw engineFault(
      'EINVAL',
      `balance.tiers has not one whole number for each of ${targets.length} targets`
    )
  checkWeights(weights, targets.length)
}

export function checkWeights(weights: readonly number[], targets: number): void {
  const isWeight = (weight: number) => weight >= 0 && weight <= maxWeight
  if (weights.length !== targets || !weights.every(isWeight))
    throw engineFault(
      'EINVAL',
      `weights has not one number of 0 to ${maxWeight} for each of ${targets} targets`
    )
}
