// The variable that names a run in the environment of every process that belongs to it: engines are started with it, hand it
// on to what they start, and whatever carries it is found and ended by it. Finding and ending is ProcessSweep's.
export const runMarkerName = "FLEET_RUN"

export const runMarker = (runId: string): readonly [name: string, value: string] => [runMarkerName, runId]
