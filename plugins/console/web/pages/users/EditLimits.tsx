import { Button, Group, NumberInput, SimpleGrid, Text } from '@mantine/core'
import { useState } from 'react'
import { call, type Versioned } from '../../api/call.ts'
import { useVersionedEdit } from '../../api/use-versioned-edit.ts'
import { notify } from '../../app/notices.ts'
import { ConfirmAction } from '../../parts/ConfirmAction.tsx'
import { EditConflict } from '../../parts/form/EditConflict.tsx'
import { Form } from '../../parts/form/Form.tsx'
import { formErrors } from '../../parts/form/form-errors.ts'
import { text } from '../../text/text.ts'
import { type Envelope, fieldNames, fields, readLimits, toLimits, toValues, type Values } from './limits.ts'

interface Props {
  readonly opened: Versioned<Envelope> | null
  readonly user: string
  readonly client_id: string
  readonly name: string // of the client
  readonly onSaved: () => void | Promise<void>
}

const nothing = { client_id: '', owner_id: '', rate_limit: {}, enforced: false, updated_at: '' }

export function EditLimits({ opened, user, client_id, name, onSaved }: Props) {
  const path = { client_id, owner_id: user }
  const [values, setValues] = useState<Values>(() => toValues(opened?.value.rate_limit))
  const { change, theirs } = useVersionedEdit<Envelope, Values>(opened ?? { value: nothing, etag: '' }, {
    read: async () => (await readLimits(client_id, user)) ?? { value: nothing, etag: '' },
    save: (values, headers) =>
      call('PUT /v1/clients/{client_id}/owners/{owner_id}/rate-limit', {
        path,
        body: toLimits(values),
        headers: headers['if-match'] === '' ? { 'if-none-match': '*' } : headers
      }),
    onSaved: () => {
      notify(text.saved)
      return onSaved()
    }
  })
  const { errorAt, generalError } = formErrors(
    change.error,
    Object.fromEntries(fieldNames.map(name => [fields[name].key, []]))
  )
  const shown = theirs && toValues(theirs.rate_limit)
  return (
    <>
      <Form
        submitLabel={text.save}
        isBusy={change.isPending}
        error={generalError}
        onSubmit={() => change.mutate(values)}
      >
        <SimpleGrid cols={{ base: 1, sm: 2 }}>
          {fieldNames.map(field => (
            <NumberInput
              key={field}
              label={text.limits[field]}
              value={values[field]}
              onChange={value => setValues({ ...values, [field]: value === '' ? '' : Number(value) })}
              error={errorAt(fields[field].key)}
              min={fields[field].unit === 1 ? 1 : 0}
              allowDecimal={fields[field].unit !== 1}
              hideControls
            />
          ))}
        </SimpleGrid>
        {shown && (
          <EditConflict
            fields={fieldNames.map(name => ({
              name: text.limits[name],
              now: shown[name],
              yours: values[name]
            }))}
          />
        )}
      </Form>
      {opened && <RemoveLimits path={path} user={user} name={name} onSaved={onSaved} />}
    </>
  )
}

interface RemoveProps {
  readonly path: { readonly client_id: string; readonly owner_id: string }
  readonly user: string
  readonly name: string
  readonly onSaved: () => void | Promise<void>
}

function RemoveLimits({ path, user, name, onSaved }: RemoveProps) {
  const [isOpen, setOpen] = useState(false)
  return (
    <Group>
      <Button variant="default" size="xs" c="var(--bad)" onClick={() => setOpen(true)}>
        {text.limits.remove}
      </Button>
      <ConfirmAction
        isOpen={isOpen}
        title={text.limits.removeTitle(user, name)}
        action={text.limits.remove}
        run={() => call('DELETE /v1/clients/{client_id}/owners/{owner_id}/rate-limit', { path })}
        notice={text.limits.removed}
        onClose={() => setOpen(false)}
        onDone={() => {
          setOpen(false)
          return onSaved()
        }}
      >
        <Text>{text.limits.removeText}</Text>
      </ConfirmAction>
    </Group>
  )
}
