import { type EngineFault, type EngineRule, engineFault } from '../engine/engine.ts'
import { checkBalance } from '../net/balance.ts'
import { checkDialFrom } from '../net/dial-from.ts'
import { checkFirstRead } from '../net/first-read.ts'
import { checkPreamble } from '../net/preamble.ts'

/** Turns a system error of node:net or node:dgram into an EngineFault; `where` begins its message. */
export function faultOf(cause: unknown, where: string): EngineFault {
  const { code, message } = cause as NodeJS.ErrnoException // net rejects with nothing else
  if (code === 'EADDRINUSE' || code === 'EACCES') return engineFault(code, `${where}: ${message}`, { cause })
  if (code === 'EMFILE' || code === 'ENFILE') return engineFault('EMFILE', `${where}: ${message}`, { cause })
  return engineFault('EINVAL', `${where}: ${message}`, { cause })
}

/** Throws EINVAL for a rule that no engine can open. */
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
  for (const { host, port } of targets)
    if (!isPort(port) || !isPort(port + to - from))
      throw engineFault('EINVAL', `target ${host}: ${port} to ${port + to - from} is not a port range`)
}
