"""The event log of runs: conversion of cycles and records to events and rows, storage and reading."""
