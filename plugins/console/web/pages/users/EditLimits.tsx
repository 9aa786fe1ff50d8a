import { Button, Group, NumberInput, SimpleGrid, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { call, type Versioned } from '../../api/call.ts'
import { useEdit } from '../../api/use-edit.ts'
import { notify } from '../../app/notices.ts'
import { Confirm } from '../../parts/ConfirmDialog.tsx'
import { Overtaken } from '../../parts/EditConflict.tsx'
import { Form } from '../../parts/Form.tsx'
import { formErrors } from '../../parts/form-errors.ts'
import { text } from '../../text/text.ts'
import { type Envelope, fieldNames, fields, limitsOf, readLimits, type Values, valuesOf } from './limits.ts'

interface Props {
  readonly opened: Versioned<Envelope> | null
  readonly user: string
  readonly client_id: string
  readonly name: string // of the edge
  readonly onSaved: () => void | Promise<void>
}

const nothing = { client_id: '', owner_id: '', rate_limit: {}, enforced: false, updated_at: '' }

export function EditLimits({ opened, user, client_id, name, onSaved }: Props) {
  const path = { client_id, owner_id: user }
  const [values, setValues] = useState<Values>(() => valuesOf(opened?.value.rate_limit))
  const { change, theirs } = useEdit<Envelope, Values>(opened ?? { value: nothing, etag: '' }, {
    read: async () => (await readLimits(client_id, user)) ?? { value: nothing, etag: '' },
    save: (values, headers) =>
      call('PUT /v1/clients/{client_id}/owners/{owner_id}/rate-limit', {
        path,
        body: limitsOf(values),
        headers: headers['if-match'] === '' ? { 'if-none-match': '*' } : headers
      }),
    onSaved: () => {
      notify(text.saved)
      return onSaved()
    }
  })
  const { at, rest } = formErrors(
    change.error,
    Object.fromEntries(fieldNames.map(name => [fields[name].key, []]))
  )
  const shown = theirs && valuesOf(theirs.rate_limit)
  return (
    <>
      <Form does={text.save} isBusy={change.isPending} error={rest} onSubmit={() => change.mutate(values)}>
        <SimpleGrid cols={{ base: 1, sm: 2 }}>
          {fieldNames.map(field => (
            <NumberInput
              key={field}
              label={text.limits[field]}
              value={values[field]}
              onChange={value => setValues({ ...values, [field]: value === '' ? '' : Number(value) })}
              error={at(fields[field].key)}
              min={fields[field].unit === 1 ? 1 : 0}
              allowDecimal={fields[field].unit !== 1}
              hideControls
            />
          ))}
        </SimpleGrid>
        {shown && (
          <Overtaken
            fields={fieldNames.map(name => ({
              name: text.limits[name],
              now: shown[name],
              mine: values[name]
            }))}
          />
        )}
      </Form>
      {opened && <Remove {...{ path, user, name, onSaved }} />}
    </>
  )
}

interface RemoveProps {
  readonly path: { readonly client_id: string; readonly owner_id: string }
  readonly user: string
  readonly name: string
  readonly onSaved: () => void | Promise<void>
}

function Remove({ path, user, name, onSaved }: RemoveProps) {
  const [asks, ask] = useState(false)
  const remove = useMutation({
    mutationFn: () => call('DELETE /v1/clients/{client_id}/owners/{owner_id}/rate-limit', { path }),
    onSuccess: () => {
      notify(text.limits.removed)
      ask(false)
      return onSaved()
    }
  })
  return (
    <Group>
      <Button variant="default" size="xs" c="var(--bad)" onClick={() => ask(true)}>
        {text.limits.remove}
      </Button>
      <Confirm
        isOpen={asks}
        onClose={() => ask(false)}
        title={text.limits.removeTitle(user, name)}
        does={text.limits.remove}
        isBusy={remove.isPending}
        onConfirm={() => remove.mutate()}
      >
        <Text>{text.limits.removeText}</Text>
      </Confirm>
    </Group>
  )
}
