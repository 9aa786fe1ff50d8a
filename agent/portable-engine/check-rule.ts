import { checkBalance } from '../engine/balance.ts'
import { checkDialFrom } from '../engine/dial-from.ts'
import { checkDiverts } from '../engine/divert.ts'
import type { EngineRule } from '../engine/engine.ts'
import { engineFault } from '../engine/engine-fault.ts'
import { checkDialers } from '../engine/engine-target.ts'
import { checkFirstRead } from '../engine/first-read.ts'
import { checkPreamble } from '../engine/preamble.ts'

/** Throws EngineFault EINVAL for a rule that no engine can open. */
export function checkRule(rule: EngineRule): void {
  const { from, to, targets, protocol, name, fallback, dialFrom, firstRead, preamble, balance } = rule
  const isPort = (port: number) => Number.isInteger(port) && port >= 1 && port <= 65_535
  if (!isPort(from) || !isPort(to) || to < from)
    throw engineFault('EINVAL', `${from} to ${to} is not a port range`)
  if (targets.length === 0) throw engineFault('EINVAL', `port ${from} has no target`)
  if ((name !== null || fallback) && (protocol === 'udp' || to !== from))
    throw engineFault('EINVAL', `port ${from}: only a TCP rule with a single port can share it by name`)
  if (name === '' || (name !== null && fallback))
    throw engineFault('EINVAL', `port ${from}: a rule has a name or is the fallback, not both`)
  if (dialFrom) checkDialFrom(dialFrom)
  if (firstRead) checkFirstRead(firstRead)
  if (preamble) checkPreamble(preamble)
  if (balance) checkBalance(balance, rule)
  checkDiverts(rule)
  checkDialers(rule)
  for (const { host, port } of targets)
    if (!isPort(port) || !isPort(port + to - from))
      throw engineFault('EINVAL', `target ${host}: ${port} to ${port + to - from} is not a port range`)
}
