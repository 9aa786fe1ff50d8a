import { type EngineFault, engineFault } from '../engine/engine-fault.ts'

/** Converts a system error of node:net or node:dgram to an EngineFault. Its message starts with `where`. */
export function systemFault(cause: unknown, where: string): EngineFault {
  const { code, message } = cause as NodeJS.ErrnoException // net rejects with nothing else
  if (code === 'EADDRINUSE' || code === 'EACCES') return engineFault(code, `${where}: ${message}`, { cause })
  if (code === 'EMFILE' || code === 'ENFILE') return engineFault('EMFILE', `${where}: ${message}`, { cause })
  return engineFault('EINVAL', `${where}: ${message}`, { cause })
}
