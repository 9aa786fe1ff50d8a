/** ESTOPPED: the engine has stopped. EINVAL: the rule is invalid. The other codes are those of the system call. */
export type EngineFault = Error & {
  readonly code: 'EADDRINUSE' | 'EACCES' | 'EINVAL' | 'EMFILE' | 'ESTOPPED'
}

export const engineFault = (
  code: EngineFault['code'],
  message: string,
  options?: ErrorOptions
): EngineFault => Object.assign(new Error(message, options), { code })
