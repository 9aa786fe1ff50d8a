import { Button, Checkbox, Group, NativeSelect, NumberInput, Paper, Stack, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../../../api/call.ts'
import { FormError } from '../../../parts/form/FormError.tsx'
import { fieldError } from '../../../parts/form/field-error.ts'
import { text } from '../../../text/text.ts'
import type { Rule } from '../queries.ts'
import { Explanation } from './Explanation.tsx'
import { explainQuestion } from './explain-question.ts'

interface Question {
  readonly client: string
  readonly port: number
  readonly protocol: 'tcp' | 'udp'
  readonly source: string
  readonly sni: string
  readonly probe: boolean
  readonly dry: boolean
  readonly test_byte: boolean
}

const initialQuestion = (rule: Rule): Question => ({
  source: '',
  sni: '',
  probe: true,
  dry: false,
  test_byte: false,
  ...explainQuestion(rule)
})

/** Explains what happens to a connection to the rule's port, and why. */
export function ExplainForm({ rule }: { readonly rule: Rule }) {
  const [question, setQuestion] = useState(() => initialQuestion(rule))
  const explain = useMutation({
    meta: { shown: true },
    mutationFn: ({ source, sni, dry, ...rest }: Question) =>
      call('POST /v1/explain', {
        body: {
          ...rest,
          dry: rest.probe && dry,
          ...(source.trim() !== '' && { source: source.trim() }),
          ...(sni.trim() !== '' && { sni: sni.trim() })
        }
      })
  })
  return (
    <Paper withBorder p="md">
      <form
        onSubmit={event => {
          event.preventDefault()
          explain.mutate(question)
        }}
      >
        <Group align="end" gap="md">
          <Inputs
            rule={rule}
            question={question}
            set={changed => setQuestion({ ...question, ...changed })}
            error={explain.error}
          />
          <Button type="submit" loading={explain.isPending}>
            {text.explain.submit}
          </Button>
        </Group>
      </form>
      <Stack mt="md" gap="md" aria-live="polite">
        <FormError error={explain.error} shownFields={['port', 'source', 'sni']} />
        {explain.data && <Explanation result={explain.data} />}
      </Stack>
    </Paper>
  )
}

interface InputsProps {
  readonly rule: Rule
  readonly question: Question
  readonly set: (changed: Partial<Question>) => void
  readonly error: Error | null
}

function Inputs({ rule, question, set, error }: InputsProps) {
  const { client, port, source, sni, probe, dry, test_byte } = question
  const textInput = (name: 'source' | 'sni', value: string, placeholder: string) => (
    <TextInput
      label={text.explain[name]}
      placeholder={placeholder}
      value={value}
      onChange={event => set({ [name]: event.currentTarget.value })}
      error={fieldError(error, name)}
      autoCapitalize="none"
    />
  )
  const checkbox = (name: 'probe' | 'dry' | 'test_byte', checked: boolean, disabled = false) => (
    <Checkbox
      label={text.explain[name]}
      checked={checked}
      disabled={disabled}
      onChange={event => set({ [name]: event.currentTarget.checked })}
      mb={8}
    />
  )
  return (
    <>
      {rule.client_id === null && (
        <NativeSelect
          label={text.rules.client}
          data={(rule.edges ?? []).map(client => ({ value: client.client_id, label: client.client_name }))}
          value={client}
          onChange={event => set({ client: event.currentTarget.value })}
        />
      )}
      {rule.listen_port_end !== null && (
        <NumberInput
          label={text.explain.port}
          value={port}
          onChange={next => typeof next === 'number' && set({ port: next })}
          error={fieldError(error, 'port')}
          hideControls
          w={110}
        />
      )}
      {textInput('source', source, text.explain.anyCaller)}
      {rule.protocol === 'tcp' && textInput('sni', sni, text.explain.noSni)}
      {checkbox('probe', probe)}
      {checkbox('dry', dry, !probe)}
      {checkbox('test_byte', test_byte)}
    </>
  )
}
