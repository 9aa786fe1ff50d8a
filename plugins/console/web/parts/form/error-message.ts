import type { ApiError } from '../../api/api-error.ts'
import { language, text } from '../../text/text.ts'

/** Returns the text of an error in the words of the console. */
export function errorMessage(error: ApiError): string {
  const { status, code, details, retryAfterSecs } = error
  if (status === 0) return text.serverUnreachable
  if (status === 412) return text.changedElsewhere
  if (status === 429) return text.busy(retryAfterSecs ?? 1)
  if (code === 'store_unavailable') return text.storeUnavailable
  if (code === 'password_too_weak')
    return details['reason'] === 'name' ? text.password.isName : text.password.isCommon
  if (code === 'activation_failed') return [text.errors[code], reasonIn(details)].filter(Boolean).join(' ')
  if (code.startsWith('csrf_')) return text.errors['csrf'] ?? ''
  if (code.endsWith('_unsupported_by_client')) return text.errors['unsupported'] ?? ''
  const reason = String(details['reason'] ?? '')
  if (reason === 'required') return text.invalid[reason] ?? ''
  if (Object.hasOwn(text.errors, code)) return text.errors[code] ?? ''
  if (code === 'validation.schema' && Object.hasOwn(text.invalid, reason)) return text.invalid[reason] ?? ''
  return plainMessage(error)
}

/** The text for a code, if the console has one, else the code. */
const reasonIn = ({ reason }: ApiError['details']): string =>
  typeof reason !== 'string' ? '' : (text.errors[reason] ?? text.reasons[reason] ?? `(${reason})`)

/** For codes of external plugins: the message of the server, which is English, without paths, ids and names of the API. */
function plainMessage({ message, code }: ApiError): string {
  if (language !== 'en') return text.refusedByServer(code)
  const said = message
    .replace(/^\/\S+:?\s+/, '')
    .replaceAll(/\s*\b[0-9A-HJKMNP-TV-Z]{26}\b/g, '')
    .replaceAll(/\/?\b[a-z]+(?:_[a-z]+)+\b/g, name => wordsOf(name.replace('/', '')))
  return said.slice(0, 1).toUpperCase() + said.slice(1)
}

const wordsOf = (key: string): string => (text.fields[key] ?? key.replaceAll('_', ' ')).toLowerCase()
