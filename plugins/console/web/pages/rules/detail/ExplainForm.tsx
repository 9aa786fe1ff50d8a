import { Button, Checkbox, Group, NativeSelect, Paper, Stack, TextInput } from '@mantine/core'
import { call } from '../../../api/call.ts'
import { FormError } from '../../../parts/form/FormError.tsx'
import { NumberField } from '../../../parts/form/NumberField.tsx'
import { useForm } from '../../../parts/form/use-form.ts'
import { text } from '../../../text/text.ts'
import type { Rule } from '../queries.ts'
import { Explanation } from './Explanation.tsx'
import { explainQuestion } from './explain-question.ts'

const options = { source: '', sni: '', probe: true, dry: false, test_byte: false }
type Question = typeof options & ReturnType<typeof explainQuestion>

const fields = {
  client: { label: text.rules.client },
  port: { label: text.explain.port },
  protocol: { label: text.rules.protocol },
  source: { label: text.explain.source },
  sni: { label: text.explain.sni },
  probe: { label: text.explain.probe },
  dry: { label: text.explain.dry },
  test_byte: { label: text.explain.test_byte }
}

/** Explains what happens to a connection to the rule's port, and why. */
export function ExplainForm({ rule }: { readonly rule: Rule }) {
  const { values, field, input, checkbox, form, error, result } = useForm({
    initial: { ...options, ...explainQuestion(rule) },
    fields,
    save: explain
  })
  const port = field('port')
  return (
    <Paper withBorder p="md">
      <form
        onSubmit={event => {
          event.preventDefault()
          form.onSubmit()
        }}
      >
        <Group align="end" gap="md">
          {rule.client_id === null && (
            <NativeSelect
              {...input('client')}
              data={(rule.edges ?? []).map(({ client_id, client_name }) => ({
                value: client_id,
                label: client_name
              }))}
            />
          )}
          {rule.listen_port_end !== null && (
            <NumberField {...port} onChange={next => next !== '' && port.onChange(next)} w={110} />
          )}
          <TextInput {...input('source')} placeholder={text.explain.anyCaller} autoCapitalize="none" />
          {rule.protocol === 'tcp' && (
            <TextInput {...input('sni')} placeholder={text.explain.noSni} autoCapitalize="none" />
          )}
          <Checkbox {...checkbox('probe')} mb={8} />
          <Checkbox {...checkbox('dry')} disabled={!values.probe} mb={8} />
          <Checkbox {...checkbox('test_byte')} mb={8} />
          <Button type="submit" loading={form.isBusy}>
            {text.explain.submit}
          </Button>
        </Group>
      </form>
      <Stack mt="md" gap="md" aria-live="polite">
        <FormError error={error} shownFields={['port', 'source', 'sni']} />
        {result && <Explanation result={result} />}
      </Stack>
    </Paper>
  )
}

const explain = ({ source, sni, dry, ...rest }: Question) =>
  call('POST /v1/explain', {
    body: {
      ...rest,
      dry: rest.probe && dry,
      ...(source.trim() !== '' && { source: source.trim() }),
      ...(sni.trim() !== '' && { sni: sni.trim() })
    }
  })
