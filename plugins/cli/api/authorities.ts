// The authorities that a command trusts instead of those of Node: of --cacert, SVC_CACERT, or the login to the server.
import { readFileSync } from 'node:fs'
import { Fault, reasonOf, wrongUsage } from '../../../kernel/base/errors.ts'

type Env = Readonly<Record<string, string | undefined>>

/** For the arguments of commands that have `server` themselves. */
export const cacertHelp =
  'PEM file of the authorities to trust, or of the certificate itself; default SVC_CACERT.'

/** Returns the certificates of the file that flag or variable names; undefined where neither does. */
export function givenAuthorities(flag: unknown, env: Env): string | undefined {
  const [file, name] = flag === undefined ? [env['SVC_CACERT'], 'SVC_CACERT'] : [String(flag), '--cacert']
  if (file === undefined) return undefined
  const { X509Certificate } = process.getBuiltinModule('node:crypto')
  try {
    const pem = readFileSync(file, 'utf8').match(certificates)?.join('\n') ?? '' // leaves out a key in the same file
    new X509Certificate(pem)
    return pem
  } catch (cause) {
    throw new Fault(wrongUsage, `${name} ${file} must be a file with PEM certificates: ${reasonOf(cause)}`, {
      cause
    })
  }
}

const certificates = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g
