import { NativeSelect, Textarea, TextInput } from '@mantine/core'
import { call } from '../../api/call.ts'
import { Form } from '../../parts/form/Form.tsx'
import { toOptions } from '../../parts/form/to-options.ts'
import { useForm } from '../../parts/form/use-form.ts'
import { Secret } from '../../parts/Secret.tsx'
import { text } from '../../text/text.ts'
import { ScopesField } from './ScopesField.tsx'

const day = 86_400
const lifetimes = { never: null, day, month: 30 * day, quarter: 90 * day, year: 365 * day } as const
type Lifetime = keyof typeof lifetimes

const fields = {
  label: { label: text.tokens.label, description: text.tokens.labelHint },
  expires_in_secs: { label: text.tokens.validFor, codes: ['credential_lifetime'] },
  access: { label: text.tokens.access, description: text.tokens.accessHint, codes: ['credential_too_broad'] },
  scopes: { label: text.tokens.scopes, codes: ['validation.scopes'] },
  allowed_sources: { label: text.tokens.sources, description: text.tokens.sourcesHint }
}

const initial = {
  label: '',
  expires_in_secs: 'quarter' as Lifetime,
  access: 'all' as keyof typeof text.tokens.accesses,
  scopes: [] as readonly string[], // of the access 'chosen'
  allowed_sources: '' // one per line
}

/** Creates a token and shows it once. */
export function IssueToken({ user, onDone }: { readonly user: string; readonly onDone: () => void }) {
  const { values, input, field, form, result } = useForm({
    initial,
    fields,
    save: given =>
      call('POST /v1/users/{user_id}/credentials', { path: { user_id: user }, body: toBody(given) })
  })
  if (result) return <Secret name={result.label || text.tokens.token} value={result.token} onDone={onDone} />
  return (
    <Form {...form} submitLabel={text.tokens.issue}>
      <TextInput {...input('label')} data-autofocus required />
      <NativeSelect {...input('expires_in_secs')} data={toOptions(text.tokens.lifetimes)} />
      <NativeSelect {...input('access')} data={toOptions(text.tokens.accesses)} />
      {values.access === 'chosen' && <ScopesField {...field('scopes')} />}
      <Textarea {...input('allowed_sources')} rows={2} spellCheck={false} />
    </Form>
  )
}

function toBody({ label, expires_in_secs, access, scopes, allowed_sources }: typeof initial) {
  const secs = lifetimes[expires_in_secs]
  const sources = allowed_sources.split(/[\s,]+/).filter(Boolean)
  return {
    label: label.trim(),
    ...(secs !== null && { expires_in_secs: secs }),
    scopes: { all: null, read: ['*:read'], chosen: [...scopes] }[access],
    allowed_sources: sources.length === 0 ? null : sources
  }
}
