import { Fault, listenFailed, reasonOf } from '../base/errors.ts'
import { lowPortRemedy } from './low-port.ts'

/** Splits a validated address. IPv6 addresses lose their brackets, and `localhost` is the IPv4 address. */
export function parseListen(listen: string): { readonly host: string; readonly port: number } {
  const at = listen.lastIndexOf(':')
  const host = listen.slice(0, at).replace(/^\[(.*)\]$/, '$1')
  return { host: host === 'localhost' ? '127.0.0.1' : host, port: Number(listen.slice(at + 1)) }
}

/** Returns the error of a failed listen on the address of a key. */
export function listenFault(key: string, listen: string, cause: unknown): Fault {
  const remedy = lowPortRemedy(cause, parseListen(listen).port) || '; give another address'
  return new Fault(listenFailed, `${key} ${listen}: ${reasonOf(cause)}${remedy}`, { cause })
}
