import { Fault } from '../../../kernel/base/errors.ts'
import { invalidReturnTo } from '../codes.ts'

/** Returns the address of a path of this origin. Throws `validation.return_to`. */
export function returnAddress(path: string, origin: string): string {
  const url = /^\/(?![/\\])/.test(path) ? URL.parse(path, origin) : null
  if (url?.origin === origin) return url.href
  throw new Fault(invalidReturnTo, 'return_to must be a path of this origin, such as /rules', {
    details: { field: '/return_to', reason: 'format' }
  })
}
